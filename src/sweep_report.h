/* sweep_report: what a study ends with: which learning rates were taken, the report of the runs
   at these rates (src/study_report.h), and what was not defined. */
#ifndef SRC_SWEEP_REPORT_H
#define SRC_SWEEP_REPORT_H

#include "src/report/terminal.h"
#include "src/study.h"

/* Reads the results that are there. Returns an exit code. */
int sweep_report(Study *study, const char *output, ColorChoice color);

#endif
