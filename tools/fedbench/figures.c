/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedbench/figures.h"

#include "common/base/cleanup.h"

#include <stdarg.h>

void figures_begin(struct figures *f, const char *bench, bool json)
{
    *f = (struct figures){.bench = bench, .json = json};
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static void add_item(struct tf_buf *list, const char *text)
{
    tf_buf_str(list, list->len ? ", " : "");
    tf_buf_json(list, text);
}

static void say(struct figures *f, const char *mark, const char *fmt, va_list args)
{
    char text[600];
    vsnprintf(text, sizeof text, fmt, args);
    if (f->json)
        add_item(&f->settings, text);
    else
        printf("%s%s\n", mark, text);
}

void figures_setting(struct figures *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(f, "# ", fmt, args);
    va_end(args);
}

void figures_group(struct figures *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!f->json)
        say(f, "\n", fmt, args);
    va_end(args);
}

static const char *plain(double value, char text[32])
{
    double size = value < 0 ? -value : value;
    snprintf(text, 32, size >= 1000 ? "%.0f" : size >= 10 ? "%.1f" : "%.3f", value);
    return text;
}

void figures_add(struct figures *f, const char *name, double value, const char *unit, const char *target,
                 const char *beside)
{
    char number[32];
    if (!f->json) {
        printf("  %-42s %12s %-10s", name, plain(value, number), unit);
        printf("%s%s%s%s%s\n", *target ? " target " : "", target, *target && *beside ? ";" : "",
               *beside ? " " : "", beside);
        return;
    }
    tf_buf_str(&f->figures, f->figures.len ? ",\n  {\"name\": " : "{\"name\": ");
    tf_buf_json(&f->figures, name);
    tf_buf_fmt(&f->figures, ", \"value\": %.6g, \"unit\": ", value);
    tf_buf_json(&f->figures, unit);
    tf_buf_str(&f->figures, ", \"target\": ");
    tf_buf_json(&f->figures, target);
    tf_buf_str(&f->figures, ", \"beside\": ");
    tf_buf_json(&f->figures, beside);
    tf_buf_char(&f->figures, '}');
}

void figures_end(struct figures *f)
{
    if (f->json)
        printf("{\"bench\": \"%s\",\n \"settings\": [%s],\n \"figures\": [\n  %s]}\n", f->bench,
               tf_buf_text(&f->settings), tf_buf_text(&f->figures));
    tf_buf_release(&f->settings);
    tf_buf_release(&f->figures);
}
