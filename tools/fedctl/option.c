/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sorting of a command line into options and words. Not getopt: its messages cannot name the nearest
 * option, and it takes abbreviations, which break scripts when an option is added. */
#include "tools/fedctl/option.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <assert.h>

void options_release(struct options *options)
{
    free(options->endpoints);
    free(options->context);
    free(options->tls_ca);
    free(options->tls_cert);
    free(options->tls_key);
    free(options->tenant);
    free(options->selector);
    free(options->phase);
    free(options->cluster);
    free(options->from);
    free(options->to);
    free(options->reason);
    free(options->out);
    free(options->plan);
    free(options->model);
    free(options->free);
    free(options->unit);
    free(options->domain);
    free(options->for_job);
    free(options->window);
    tf_strs_release(&options->node_names);
    tf_strs_release(&options->files);
    tf_strs_release(&options->env);
    tf_strs_release(&options->labels);
    tf_strs_release(&options->models);
    tf_strs_release(&options->clusters);
    tf_job_manifest_release(&options->job);
    *options = (struct options){0};
}

void options_init(struct options *options, struct option_list list)
{
    tf_job_manifest_init(&options->job);
    for (size_t i = 0; i < list.count; i++) {
        const struct tf_row *row = &list.items[i].row;
        if (!row->def)
            continue;
        struct tf_error err = TF_ERROR_INIT;
        int failed = tf_row_parse(row, row->def, options, &err);
        assert(!failed);
        (void)failed;
    }
}

struct parser {
    int argc, next;
    char *const *argv;
    const struct option_list *lists;
    struct options *options;
    struct tf_error *err;
};

static const struct option *find(const struct parser *p, const char *name, size_t len, char letter)
{
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < p->lists[l].count; i++) {
            const struct option *o = &p->lists[l].items[i];
            if (letter ? o->letter == letter : strncmp(o->row.key, name, len) == 0 && !o->row.key[len])
                return o;
        }
    return NULL;
}

static int unknown(const struct parser *p, const char *name)
{
    TF_VEC(const char *) names = {0};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < p->lists[l].count; i++)
            tf_vec_push(&names, p->lists[l].items[i].row.key);
    const char *nearest = tf_nearest(name, names.items, names.count);
    for (size_t i = 0; !nearest && i < names.count; i++) /* --model, where it is --gpu-model */
        if (strlen(name) > 3 && strstr(names.items[i], name))
            nearest = names.items[i];
    tf_vec_release(&names);
    if (nearest)
        return tf_error_set(p->err, TF_ERR_INVALID, "there is no option --%.100s; did you mean --%s?", name,
                            nearest);
    return tf_error_set(p->err, TF_ERR_INVALID, "there is no option --%.100s", name);
}

/* The row's own rules: bounds, names. */
static int check(const struct option *option, const struct options *options, struct tf_error *err)
{
    const struct tf_table alone = {.size = sizeof *options, .rows = &option->row, .count = 1};
    struct tf_complaints complaints = {0};
    if (!tf_table_check_rows(&alone, options, &complaints))
        tf_error_set(err, TF_ERR_INVALID, "%.700s", complaints.items[0].text);
    int result = complaints.count ? -1 : 0;
    tf_complaints_release(&complaints);
    return result;
}

static int set(const struct parser *p, const struct option *option, const char *value)
{
    struct tf_error why = TF_ERROR_INIT;
    if (tf_row_parse(&option->row, value, p->options, &why) == 0 && check(option, p->options, &why) == 0)
        return 0;
    return tf_error_set(p->err, TF_ERR_INVALID, "--%s: %.800s", option->row.key, why.text);
}

/* text: what follows in the same word, NULL if nothing. */
static int take(struct parser *p, const struct option *option, const char *text)
{
    if (!option->value)
        return set(p, option, text ? text : "true");
    if (!text && p->next >= p->argc)
        return tf_error_set(p->err, TF_ERR_INVALID, "--%s needs a value: --%s %s", option->row.key,
                            option->row.key, option->value);
    return set(p, option, text ? text : p->argv[p->next++]);
}

static int take_long(struct parser *p, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = find(p, word, len, 0);
    if (option)
        return take(p, option, equals ? equals + 1 : NULL);
    TF_AUTO_FREE char *name = tf_strndup(word, len);
    return unknown(p, name);
}

/* "-Af job.yaml", "-ojson", "-o=json" */
static int take_letters(struct parser *p, const char *word)
{
    for (; *word; word++) {
        const struct option *option = find(p, NULL, 0, *word);
        if (!option && *word == 'h')
            option = find(p, "help", 4, 0);
        if (!option)
            return tf_error_set(p->err, TF_ERR_INVALID, "there is no option -%.4s", word);
        if (option->value) {
            const char *rest = word[1] == '=' ? word + 2 : word + 1;
            return take(p, option, *rest ? rest : NULL);
        }
        if (take(p, option, NULL))
            return -1;
    }
    return 0;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

int options_parse(int argc, char *const *argv, const struct option_list lists[2], bool stop_at_word,
                  struct options *options, struct tf_strs *words, struct tf_error *err)
{
    struct parser p = {argc, 0, argv, lists, options, err};
    bool only_words = false;
    while (p.next < argc) {
        const char *word = argv[p.next];
        bool option = !only_words && is_option(word);
        if (!option && stop_at_word)
            break;
        p.next++;
        int failed = 0;
        if (!option)
            tf_strs_add(words, word);
        else if (strcmp(word, "--") == 0)
            only_words = true;
        else if (word[1] == '-')
            failed = take_long(&p, word + 2);
        else
            failed = take_letters(&p, word + 1);
        if (failed)
            return -1;
    }
    return p.next;
}
