/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_WIRE_COVERAGE_H
#define TF_TESTS_WIRE_COVERAGE_H

#include "job.pb-c.h"

#include <stddef.h>

/* Which fields of which messages have been seen with a value. */

/* Unpacks the bytes and notes what is set in them, also in messages inside; protobuf-c must write the same
 * bytes again. */
void wire_coverage_add(const ProtobufCMessageDescriptor *message, const void *bytes, size_t len);
/* How many fields of the message, and of all messages inside, were never set; prints them. */
int wire_coverage_missing(const ProtobufCMessageDescriptor *message);
/* How deeply messages nest; -1, printing its name, if one contains itself. */
int wire_coverage_depth(const ProtobufCMessageDescriptor *message);

#endif
