/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_MODEL_EQ_H
#define TF_TESTS_MODEL_EQ_H

#include "common/model/message.h"

#include <string.h>

/* Deep equality of model values that cannot forget a field: what is owned is compared and taken out of
 * copies, and what is left of them must be equal byte by byte (a pointer that nobody compared differs). */
bool eq_job_spec(const struct tf_job_spec *a, const struct tf_job_spec *b);
bool eq_job_manifest(const struct tf_job_manifest *a, const struct tf_job_manifest *b);
bool eq_member(const struct tf_member *a, const struct tf_member *b);
bool eq_ended(const struct tf_ended *a, const struct tf_ended *b);
bool eq_job_event(const struct tf_job_event *a, const struct tf_job_event *b);
bool eq_node(const struct tf_node *a, const struct tf_node *b);
bool eq_policy(const struct tf_policy *a, const struct tf_policy *b);
bool eq_profile(const struct tf_profile *a, const struct tf_profile *b);
bool eq_cross(const struct tf_cross *a, const struct tf_cross *b);
bool eq_migration(const struct tf_migration *a, const struct tf_migration *b);
bool eq_record(const struct tf_record *a, const struct tf_record *b);
bool eq_up(const struct tf_up *a, const struct tf_up *b);
bool eq_entry(const struct tf_entry *a, const struct tf_entry *b);
bool eq_defrag_order(const struct tf_defrag_order *a, const struct tf_defrag_order *b);
bool eq_down(const struct tf_down *a, const struct tf_down *b);

/* ---- to write such functions:
 *
 *     bool eq_claim(const struct tf_claim *a, const struct tf_claim *b)
 *     {
 *         EQ_BEGIN(struct tf_claim);
 *         EQ_STR(node);
 *         return EQ_END;
 *     }
 */
#if __has_builtin(__builtin_clear_padding)
#define EQ_CLEAR(p) __builtin_clear_padding(p)
#else
#define EQ_CLEAR(p) (void)(p) /* may see differences that are none */
#endif

#define EQ_BEGIN(type)       \
    type x, y;               \
    bool same_ = true;       \
    memcpy(&x, a, sizeof x); \
    memcpy(&y, b, sizeof y)
#define EQ_TAKE(f)                       \
    memset((void *)&x.f, 0, sizeof x.f); \
    memset((void *)&y.f, 0, sizeof y.f)
#define EQ_STR(f)                         \
    same_ = same_ && tf_str_eq(x.f, y.f); \
    EQ_TAKE(f)
#define EQ_WITH(f, eq)               \
    same_ = same_ && eq(&x.f, &y.f); \
    EQ_TAKE(f)
#define EQ_LIST(f, eq)                                 \
    same_ = same_ && x.f.count == y.f.count;           \
    for (size_t i_ = 0; same_ && i_ < x.f.count; i_++) \
        same_ = eq(&x.f.items[i_], &y.f.items[i_]);    \
    EQ_TAKE(f)
#define EQ_END (EQ_CLEAR(&x), EQ_CLEAR(&y), same_ && memcmp(&x, &y, sizeof x) == 0)

#endif
