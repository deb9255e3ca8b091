/* Every task, in the order of tables and plots. One line each: TASK(name) needs `const Task
   task_name` in tasks/name.c. */
TASK(copy)
TASK(recall)
TASK(induction)
TASK(mlm_grammar)
