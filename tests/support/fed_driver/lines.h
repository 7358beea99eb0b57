/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FED_DRIVER_LINES_H
#define TF_TESTS_FED_DRIVER_LINES_H

#include "tests/support/fed_driver/fed_driver.h"

/* Appends the action to the driver's log as a line (see fed_driver.h). */
void lines_add(struct drive *d, const struct fed_action *action);

#endif
