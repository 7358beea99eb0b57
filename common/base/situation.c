/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/situation.h"

#include <assert.h>

#define NAME(name, words) #name,
#define ONE(name, words) +1
enum { EXPECTED = TF_SITUATIONS_EXPECTED(ONE) };
#define WORDS(name, words) words,
static const char *const names[] = {TF_SITUATIONS_EXPECTED(NAME) TF_SITUATIONS_OTHER(NAME)};
static const char *const words_of[] = {TF_SITUATIONS_EXPECTED(WORDS) TF_SITUATIONS_OTHER(WORDS)};

void tf_situations_add(struct tf_situations *sum, const struct tf_situations *more)
{
    for (size_t i = 0; i < TF_SITUATION_COUNT; i++)
        sum->counts[i] += more->counts[i];
}

const char *tf_situation_name(enum tf_situation situation)
{
    assert(situation < TF_SITUATION_COUNT);
    return names[situation];
}

const char *tf_situation_words(enum tf_situation situation)
{
    assert(situation < TF_SITUATION_COUNT);
    return words_of[situation];
}

bool tf_situation_is_expected(enum tf_situation situation)
{
    return (int)situation < EXPECTED;
}
