/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_OUTLET_H
#define TF_ENGINE_OUTLET_H

#include "common/loop/loop.h"
#include "subcluster/engine/engine.h"

/* Carries the events of an engine to the loop's thread, in order: never from within a call of the engine, and
 * none after the close. */
struct outlet;

struct outlet *outlet_create(struct tf_loop *loop, tf_engine_event_f event, void *context);
/* Any thread; the event and what it points at are copied. */
void outlet_tell(struct outlet *outlet, const struct tf_engine_event *event);
/* In the loop's thread, also from within the callback, when no other thread tells any more. It frees itself,
 * at once or when the loop gives it back. */
void outlet_close(struct outlet *outlet);

#endif
