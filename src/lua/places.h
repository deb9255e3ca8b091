/* places: where a key stands in the text of a config. Lua does not keep the line of a table's key,
   so the text is read once more: its constructors, assignments to fields, local tables and
   includes, which is how configs are written. What is computed (a table filled in a loop) is found
   at the nearest enclosing key that is written out. */
#ifndef SRC_LUA_PLACES_H
#define SRC_LUA_PLACES_H

/* A key that is written somewhere in the text. */
typedef struct {
    int parent; /* node of the table that it stands in; PLACES_VARIABLE for a variable */
    int line;
    int index; /* of a value without a key, or [3] = ...; 0 where it has a name */
    int name_length;
    int alias_length;
    const char *name;  /* in the text */
    const char *alias; /* its value is this variable, or include of this file; NULL: neither */
    int includes;      /* 1: the alias is a file */
    int first_line;    /* of the same key in the same table: Lua keeps the last; 0: it is alone */
} PlaceNode;

enum { PLACES_VARIABLE = -1, PLACES_RESULT = 0 /* node of the table that the file returns */ };

typedef struct {
    int count, room;
    PlaceNode *nodes;
} Places;

/* Reads a text that Lua has compiled. The text must stay. */
Places places_scan(const char *text);
void places_free(Places *places);

/* Where the key ("train.stages.2.length") stands, or the nearest key around it that was found. */
typedef struct {
    int source; /* index of the file */
    int line;   /* 0: not known */
    int depth;  /* components of the key that were found */
} Place;

struct Sources;
Place places_find(const struct Sources *sources, const char *key);

#endif
