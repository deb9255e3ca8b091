/* shell: words as a person, or a script, can paste them into a shell. */
#ifndef SRC_SHELL_H
#define SRC_SHELL_H

/* The word, in quotes where it needs them; memory of the caller. */
char *shell_word(const char *word);

/* All words with blanks between; memory of the caller. */
char *shell_words(int count, const char *const *words);

#endif
