/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_OPTION_H
#define TF_FEDCTL_OPTION_H

#include "common/base/clock.h"
#include "common/base/row.h"
#include "common/model/job.h"

#include <stdbool.h>

/* Options of verbs as rows: parsing, defaults, bounds and help come from them. */

enum output { OUTPUT_TABLE = 1, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_WIDE, OUTPUT_NAME };
enum wait_for { WAIT_RUNNING = 1, WAIT_SUCCEEDED, WAIT_FAILED, WAIT_FINISHED, WAIT_DELETED };

enum sort_by { SORT_GPUS = 1, SORT_CPU, SORT_MEMORY, SORT_NAME, SORT_FRAGMENTATION };

/* The values of all options of all verbs; those that a verb does not have stay empty. */
struct options {
    char *endpoints, *context;
    char *tls_ca, *tls_cert, *tls_key; /* paths */
    int64_t timeout;                   /* ms, 0 = no limit */
    bool no_color, help, help_all;
    enum output output;
    struct tf_strs files;
    char *tenant, *selector, *phase, *cluster;
    bool all_tenants, no_headers, archived;
    int64_t limit; /* 0 = all */
    int32_t chunk; /* objects a request */
    bool restart, dry_run;
    bool ignore_not_found, wait;
    bool follow;
    int32_t index;
    int64_t tail, epoch, attempt;
    enum wait_for until;
    bool client_only;
    bool yes;         /* what it costs has been read */
    bool known_dead;  /* of a cluster that is forgotten */
    char *from, *to;  /* nodes: of a migration */
    char *reason;     /* of a cordon, a freeze, a drain */
    int64_t deadline; /* of a drain, ms from now; 0 = none */
    int32_t at_once;
    bool force;
    bool suspect;            /* of GPUs that are cordoned */
    bool list;               /* freezes */
    char *out, *plan;        /* plan files: to be written, to be applied */
    int64_t since, duration; /* ms; TF_UNSET and 0 = not said */
    enum sort_by sort;
    int64_t time_scale; /* of replay */
    bool any_model;
    char *model, *free, *unit, *domain, *for_job; /* of defrag */
    struct tf_strs node_names;
    int32_t worst, max_moves;
    bool allow_restart;
    char *window;
    /* of submit and, its sizes, of scale */
    struct tf_job_manifest job;
    int32_t instances;
    struct tf_strs env, labels, models, clusters;
};

struct option {
    char letter;       /* 0 = long form only */
    const char *value; /* what stands for the value in the help; NULL: a flag */
    struct tf_row row; /* its key is the long name, its help one line, its field one of struct options */
};

struct option_list {
    const struct option *items;
    size_t count;
};
#define OPTION_LIST(array)           \
    {                                \
        (array), TF_ARRAY_LEN(array) \
    }

/* Options that several verbs have. */
#define OPTION_FILES(text)                                                 \
    {                                                                      \
        'f', "FILE",                                                       \
        {                                                                  \
            .key = "file", TF_STRINGS(struct options, files), .help = text \
        }                                                                  \
    }
#define OPTION_OUTPUT_ALL                                                                              \
    {                                                                                                  \
        'o', "FORMAT",                                                                                 \
        {                                                                                              \
            .key = "output", TF_ENUM(struct options, output, "table", "json", "yaml", "wide", "name"), \
            .def = "table", .help = "table, wide (more columns), json, yaml, or name (one a line)"     \
        }                                                                                              \
    }
#define OPTION_OUTPUT_OBJECT                                                                           \
    {                                                                                                  \
        'o', "FORMAT",                                                                                 \
        {                                                                                              \
            .key = "output", TF_ENUM(struct options, output, "table", "json", "yaml"), .def = "table", \
            .help = "table (for people), json or yaml"                                                 \
        }                                                                                              \
    }
#define OPTION_MANIFESTS \
    OPTION_FILES("manifests: a file, a folder (*.yaml, *.yml, *.json) or - for stdin; may be repeated")
#define OPTION_RESTART(text)                                                 \
    {                                                                        \
        0, NULL,                                                             \
        {                                                                    \
            .key = "restart", TF_BOOL(struct options, restart), .help = text \
        }                                                                    \
    }
#define OPTION_REASON(text)                                                                        \
    {                                                                                              \
        'r', "TEXT",                                                                               \
        {                                                                                          \
            .key = "reason", TF_STRING(struct options, reason), .min = 1, .max = 500, .help = text \
        }                                                                                          \
    }
#define OPTION_TENANT                                                    \
    {                                                                    \
        't', "TENANT",                                                   \
        {                                                                \
            .key = "tenant", TF_NAME(struct options, tenant),            \
            .help = "of jobs named without one; in lists: only its jobs" \
        }                                                                \
    }

#define OPTION_ALL_TENANTS                                                    \
    {                                                                         \
        'A', NULL,                                                            \
        {                                                                     \
            .key = "all-tenants", TF_BOOL(struct options, all_tenants),       \
            .help = "of every tenant, also where the configuration names one" \
        }                                                                     \
    }
#define OPTION_SELECTOR                                                            \
    {                                                                              \
        'l', "SELECTOR",                                                           \
        {                                                                          \
            .key = "selector", TF_STRING(struct options, selector),                \
            .help = "only with these labels: a=x,b!=y,c in (x,y),d notin (x),e,!f" \
        }                                                                          \
    }
#define OPTION_NODE_LABELS                                                              \
    {                                                                                   \
        'l', "SELECTOR",                                                                \
        {                                                                               \
            .key = "selector", TF_STRING(struct options, selector),                     \
            .help = "all nodes with these labels: a=x,b!=y,c in (x,y),d notin (x),e,!f" \
        }                                                                               \
    }
#define OPTION_DURATION(text)                                                   \
    {                                                                           \
        0, "TIME",                                                              \
        {                                                                       \
            .key = "duration", TF_DURATION(struct options, duration), .min = 1, \
            .max = (int64_t)365 * 24 * TF_HOUR, .help = text                    \
        }                                                                       \
    }

void options_release(struct options *options);

/* Sorts argv[0..argc) into options and words; of the options of both lists (the verb's first). "--" ends the
 * options. stop_at_word: stops before the first word. Gives how many were used, or -1 with *err
 * (TF_ERR_INVALID) naming the option and, for an unknown one, the nearest. options is initialised with the
 * defaults by options_init. */
void options_init(struct options *options, struct option_list list);
int options_parse(int argc, char *const *argv, const struct option_list lists[2], bool stop_at_word,
                  struct options *options, struct tf_strs *words, struct tf_error *err);

#endif
