/* SPDX-License-Identifier: Apache-2.0 */
/* Owns completion: scripts for shells, and the words that they offer. The scripts know nothing themselves;
 * they ask `fedctl completion words`, so that they never differ from the tables of verbs and options, and
 * names are those of the federation at this moment. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/phase.h"
#include "tools/fedctl/live_config.h"
#include "tools/fedctl/resource.h"

#include <ctype.h>

static const char bash_script[] =
    "# bash completion of fedctl: source <(fedctl completion bash)\n"
    "_fedctl() {\n"
    "    local IFS=$'\\n' offered\n"
    "    offered=$(fedctl completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    COMPREPLY=($(compgen -W \"$offered\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
    "}\n"
    "complete -o default -F _fedctl fedctl\n";

static const char zsh_script[] =
    "#compdef fedctl\n"
    "# zsh completion of fedctl: source <(fedctl completion zsh), after compinit\n"
    "_fedctl() {\n"
    "    local -a offered\n"
    "    offered=(${(f)\"$(fedctl completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "    if (( ${#offered} )); then compadd -a offered; else _files; fi\n"
    "}\n"
    "compdef _fedctl fedctl\n";

/* Somebody waits at a prompt. */
enum { NAMES_TIMEOUT_MS = 2000, JOBS_OFFERED = 1000 };

/* ---- names ---- */

static void offer(struct fedctl *ctl, const char *word)
{
    out_fmt(&ctl->out, "%s\n", word);
}

static void offer_all(struct fedctl *ctl, const char *const *list)
{
    for (; *list; list++)
        offer(ctl, *list);
}

/* What was offered of a list of jobs: it ends somewhere. */
struct offered {
    struct fedctl *ctl;
    bool tenants;               /* and not the jobs */
    char last[TF_NAME_MAX + 1]; /* tenant; a list is in their order */
    size_t count;
};

static void offer_job(struct offered *o, const struct tf_job_view *job)
{
    const char *tenant = job->manifest.tenant;
    bool is_new = strcmp(tenant, o->last) != 0;
    snprintf(o->last, sizeof o->last, "%s", tenant);
    o->count++;
    if (!o->tenants)
        out_fmt(&o->ctl->out, "%s/%s\n", tenant, job->manifest.name);
    else if (is_new)
        offer(o->ctl, tenant);
}

/* Who types the tenant first gets the names of it. */
static int offer_jobs(struct fedctl *ctl, const char *begun, bool tenants)
{
    struct tf_request request = {.method = TF_METHOD_LIST, .list.page_size = TF_PAGE_MAX};
    struct offered offered = {.ctl = ctl, .tenants = tenants};
    const char *slash = strchr(begun, '/');
    int code = FEDCTL_DONE;
    if (slash && !tenants)
        request.list.filter.tenant = tf_strndup(begun, (size_t)(slash - begun));
    do {
        struct tf_reply reply = {0};
        struct tf_error err = TF_ERROR_INIT;
        if (fedctl_call(ctl, &request, &reply, &err)) {
            code = fedctl_fail(ctl, &err);
            break;
        }
        tf_vec_each (job, &reply.list.jobs)
            offer_job(&offered, job);
        free(request.list.page_token);
        request.list.page_token = TF_STEAL(reply.list.next_token);
        tf_reply_release(&reply);
    } while (request.list.page_token && *request.list.page_token && offered.count < JOBS_OFFERED);
    tf_request_release(&request);
    return code;
}

/* As `fedctl get ... -o name` does it. */
static int offer_names(struct fedctl *ctl, enum resource_kind kind)
{
    struct listing listing;
    struct tf_strs words = ctl->words;
    ctl->words = (struct tf_strs){0};
    ctl->options.output = OUTPUT_NAME;
    listing_begin(&listing, fetchers[kind].resource, &ctl->options, false, &ctl->out);
    int code = fetchers[kind].fetch(ctl, &listing);
    listing_end(&listing, false);
    ctl->words = words;
    return code;
}

static int offer_settings(struct fedctl *ctl)
{
    ctl->options.output = OUTPUT_NAME;
    return live_config_get(ctl, NULL);
}

/* place: what stands for the name in a usage line, as long as `length`; kind: the word before it, or "". */
static int offer_place(struct fedctl *ctl, const char *place, size_t length, const char *kind,
                       const char *begun)
{
    static const struct {
        const char *place;
        enum resource_kind kind;
    } names[] = {
        {"TENANT/NAME/INDEX", RESOURCE_INSTANCES},
        {"CLUSTER/NODE:INDEX", RESOURCE_NODES},
        {"CLUSTER/NODE", RESOURCE_NODES},
        {"NAME", RESOURCE_CLUSTERS},
        {"ID", RESOURCE_MIGRATIONS},
    };
    TF_AUTO_FREE char *what = tf_strndup(place, length);
    if (strcmp(what, "TENANT/NAME") == 0)
        return tf_starts_with(kind, "reservation") ? offer_names(ctl, RESOURCE_RESERVATIONS)
                                                   : offer_jobs(ctl, begun, false);
    if (strcmp(what, "KEY") == 0)
        return offer_settings(ctl);
    if (strcmp(what, "VERB") == 0)
        for (size_t i = 0; verbs[i]; i++)
            offer(ctl, verbs[i]->name);
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (strcmp(what, names[i].place) == 0)
            return offer_names(ctl, names[i].kind);
    return FEDCTL_DONE; /* files: the shell knows them */
}

/* The same of "ID|TENANT/NAME". */
static int offer_places(struct fedctl *ctl, const char *places, size_t length, const char *kind,
                        const char *begun)
{
    const char *end = places + length;
    int code = FEDCTL_DONE;
    for (const char *at = places; at < end && code == FEDCTL_DONE;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        code = offer_place(ctl, at, (size_t)((bar ? bar : end) - at), kind, begun);
        at = bar ? bar + 1 : end;
    }
    return code;
}

/* ---- what follows a verb: its usage lines say it, so that what is offered is what the help tells ---- */

struct form {
    struct tf_strs words; /* one of these comes first, if there are any */
    bool optional;        /* the word may be left out */
    const char *place;    /* what follows, in capitals: "CLUSTER/NODE"; borrowed from the usage */
    size_t place_length;
};

static size_t span_place(const char *s)
{
    return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ/:|");
}

/* line: one of a usage, as "[job] TENANT/NAME... [--wait]" or "pause|resume ID". */
static void read_form(const char *line, struct form *form)
{
    size_t brackets = strspn(line, "[");
    const char *at = line + brackets;
    *form = (struct form){.optional = brackets > 0};
    while (islower((unsigned char)*at)) {
        size_t length = strcspn(at, "| ]\n");
        TF_AUTO_FREE char *word = tf_strndup(at, length);
        tf_strs_add(&form->words, word);
        at += length;
        if (*at == '|')
            at++;
    }
    at += strspn(at, " ][");
    form->place = at;
    form->place_length = span_place(at);
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* Names that may stand without a word before them. */
static int offer_bare(struct fedctl *ctl, const struct verb *verb, const char *begun)
{
    struct form bare = {0};
    for (const char *line = verb->usage; line && !bare.place_length; line = next_line(line)) {
        struct form form;
        read_form(line, &form);
        if (form.optional || !form.words.count)
            bare = (struct form){.place = form.place, .place_length = form.place_length};
        tf_strs_release(&form.words);
    }
    return bare.place_length ? offer_places(ctl, bare.place, bare.place_length, "", begun) : FEDCTL_DONE;
}

/* What a verb takes first: a word of its forms, or a name. */
static int offer_first(struct fedctl *ctl, const struct verb *verb, const char *begun)
{
    struct tf_strs offered = {0};
    for (const char *line = verb->usage; line; line = next_line(line)) {
        struct form form;
        read_form(line, &form);
        tf_vec_each (word, &form.words) {
            if (tf_strs_has(&offered, *word))
                continue;
            tf_strs_add(&offered, *word);
            offer(ctl, *word);
        }
        tf_strs_release(&form.words);
    }
    tf_strs_release(&offered);
    return offer_bare(ctl, verb, begun);
}

/* What comes after `first`: the names that the first form with this word asks for, else those without a word.
 */
static int offer_names_after(struct fedctl *ctl, const struct verb *verb, const char *first,
                             const char *begun)
{
    for (const char *line = verb->usage; line; line = next_line(line)) {
        struct form form;
        read_form(line, &form);
        bool matches = tf_strs_has(&form.words, first);
        tf_strs_release(&form.words);
        if (matches)
            return offer_places(ctl, form.place, form.place_length, first, begun);
    }
    return offer_bare(ctl, verb, begun);
}

/* ---- options ---- */

static const struct option *find_in(struct option_list list, const char *word)
{
    for (size_t i = 0; i < list.count; i++) {
        const struct option *o = &list.items[i];
        bool is_letter = o->letter && word[1] == o->letter && !word[2];
        if (is_letter || (word[1] == '-' && strcmp(word + 2, o->row.key) == 0))
            return o;
    }
    return NULL;
}

/* NULL: the word is none, or none with a value. */
static const struct option *option_with_value(const struct verb *verb, const char *word)
{
    if (word[0] != '-' || !word[1])
        return NULL;
    const struct option *option = find_in(verb->options, word);
    if (!option)
        option = find_in(global_options, word);
    return option && option->value ? option : NULL;
}

static void offer_options(struct fedctl *ctl, struct option_list list)
{
    for (size_t i = 0; i < list.count; i++)
        out_fmt(&ctl->out, "--%s\n", list.items[i].row.key);
}

static void offer_phases(struct fedctl *ctl)
{
    for (int phase = TF_PHASE_PENDING; phase <= TF_PHASE_DELETED; phase++) {
        TF_AUTO_FREE char *word = tf_strdup(tf_phase_name((enum tf_phase)phase));
        word[0] = (char)tolower((unsigned char)word[0]);
        offer(ctl, word);
    }
}

static int offer_values(struct fedctl *ctl, const struct option *option, const char *begun)
{
    const char *key = option->row.key;
    if (strcmp(key, "cluster") == 0)
        return offer_names(ctl, RESOURCE_CLUSTERS);
    if (strcmp(key, "tenant") == 0)
        return offer_jobs(ctl, "", true);
    if (strcmp(key, "phase") == 0)
        offer_phases(ctl);
    else if (strcmp(key, "context") == 0)
        tf_vec_each (context, &ctl->config.contexts)
            offer(ctl, context->name);
    else if (option->row.type == TF_ROW_ENUM)
        offer_all(ctl, option->row.names + 1); /* the first stands for "not said" */
    else if (strchr(option->value, '/'))
        return offer_places(ctl, option->value, strlen(option->value), "", begun);
    return FEDCTL_DONE;
}

/* ---- the verb ---- */

static int offer_verbs(struct fedctl *ctl)
{
    for (size_t i = 0; verbs[i]; i++)
        offer(ctl, verbs[i]->name);
    offer_options(ctl, global_options);
    return FEDCTL_DONE;
}

/* words: those of the line after `fedctl`, the last of which is being typed. */
static int complete(struct fedctl *ctl, char *const *words, size_t count)
{
    const char *first = "", *begun = count ? words[count - 1] : "";
    const struct verb *verb = count > 1 ? verb_find(words[0]) : NULL;
    if (count < 2)
        return offer_verbs(ctl);
    if (!verb)
        return FEDCTL_DONE;
    const struct option *option = count > 2 ? option_with_value(verb, words[count - 2]) : NULL;
    if (option)
        return offer_values(ctl, option, begun);
    if (begun[0] == '-') {
        offer_options(ctl, verb->options);
        offer_options(ctl, global_options);
        return FEDCTL_DONE;
    }
    for (size_t i = 1; i + 1 < count && !*first; i++) {
        if (option_with_value(verb, words[i]))
            i++;
        else if (words[i][0] != '-')
            first = words[i];
    }
    return *first ? offer_names_after(ctl, verb, first, begun) : offer_first(ctl, verb, begun);
}

static int run(struct fedctl *ctl)
{
    const char *what = ctl->words.count ? ctl->words.items[0] : "";
    if (strcmp(what, "words") == 0) {
        if (ctl->config.timeout > NAMES_TIMEOUT_MS)
            ctl->config.timeout = NAMES_TIMEOUT_MS;
        return complete(ctl, ctl->words.items + 1, ctl->words.count - 1);
    }
    if (ctl->words.count == 1 && strcmp(what, "bash") == 0)
        out_write(&ctl->out, bash_script, sizeof bash_script - 1);
    else if (ctl->words.count == 1 && strcmp(what, "zsh") == 0)
        out_write(&ctl->out, zsh_script, sizeof zsh_script - 1);
    else
        return fedctl_usage(ctl, "for which shell? Say bash or zsh");
    return FEDCTL_DONE;
}

const struct verb verb_completion = {
    .name = "completion",
    .usage = "bash|zsh",
    .help = "Print what makes bash or zsh complete verbs, options and names",
    .more = "Names of jobs, clusters and nodes are asked of the federation, for at most 2s; at most 1000 "
            "jobs are\n"
            "offered, of one tenant once TENANT/ is typed. `words` is what the shells call: what can stand "
            "in place\n"
            "of the last WORD.",
    .examples = "# Now, and in each new shell\n"
                "source <(fedctl completion bash)\n"
                "echo 'source <(fedctl completion bash)' >> ~/.bashrc\n"
                "# zsh, after compinit\n"
                "source <(fedctl completion zsh)\n",
    .run = run,
};
