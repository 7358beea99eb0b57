/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDERATION_CORE_ACTION_H
#define TF_FEDERATION_CORE_ACTION_H

#include "federation/core/fed.h"

void fed_action_release(struct fed_action *action); /* frees what it owns and zeroes it */

#endif
