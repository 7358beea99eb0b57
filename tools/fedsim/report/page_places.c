/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is shown by place: clusters over time, and each node for the whole of it. */
#include "tools/fedsim/report/page.h"

#include "common/base/cleanup.h"

#include <inttypes.h>
#include <math.h>

enum { CLUSTERS_DRAWN = 24, CELLS_A_CLUSTER = 400, CELLS_IN_ALL = 3000 };

/* ---- clusters ---- */

static struct page_bands shares(const struct page *page, const struct report_group *cluster)
{
    struct page_bands bands = {0};
    for (size_t i = 0; i < page->class_count; i++)
        tf_vec_each (share, &cluster->shares) {
            if (share->class != page->classes[i])
                continue;
            struct page_band *band = &bands.items[bands.count++];
            band->colour = (int)i % PAGE_COLOURS;
            band->line = &share->held.line;
            snprintf(band->name, sizeof band->name, "%s", share->class->name);
        }
    return bands;
}

static void draw_cluster(struct page *page, const struct report_group *cluster)
{
    struct page_bands bands = shares(page, cluster);
    TF_AUTO_FREE char *group = tf_asprintf("clusters.%s.", cluster->name);
    TF_AUTO_FREE char *label = tf_asprintf("GPUs held in %s, by priority class", cluster->name);
    /* all of its bands together are the cluster's own figure */
    if (bands.count)
        snprintf(bands.items[bands.count - 1].series, sizeof bands.items[0].series, "%sgpuHoursHeld", group);
    tf_buf_str(page->out, "<div><div class=\"strip\"><b>");
    page_escaped(page->out, cluster->name);
    tf_buf_str(page->out, "</b><span>");
    page_figure(page, group, "gpuAllocation", PAGE_PERCENT);
    tf_buf_str(page->out, " held</span></div>");
    page_stack(page, &(struct page_stack){.label = label,
                                          .unit = "GPUs",
                                          .up = &bands,
                                          .top = &cluster->there.line,
                                          .height = 90,
                                          .small = true});
    tf_buf_str(page->out, "</div>\n");
}

static void cluster_table(struct page *page)
{
    static const struct {
        const char *head, *figure;
        enum page_form form;
    } columns[] = {
        {"GPU-hours there", "gpuHoursThere", PAGE_HOURS},
        {"held", "gpuAllocation", PAGE_PERCENT},
        {"usable", "gpuUsable", PAGE_PERCENT},
        {"completed", "jobsCompleted", PAGE_COUNT},
        {"evictions", "evictions", PAGE_COUNT},
        {"resizes", "resizes", PAGE_COUNT},
        {"migrations", "migrations", PAGE_COUNT},
        {"lost GPU-h", "lostGpuHours", PAGE_HOURS},
    };
    tf_buf_str(page->out, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">cluster</th>");
    for (size_t i = 0; i < TF_ARRAY_LEN(columns); i++)
        tf_buf_fmt(page->out, "<th scope=\"col\">%s</th>", columns[i].head);
    tf_buf_str(page->out, "</tr></thead><tbody>\n");
    for (struct report_group *cluster = page->report->clusters; cluster; cluster = cluster->hh.next) {
        TF_AUTO_FREE char *group = tf_asprintf("clusters.%s.", cluster->name);
        tf_buf_str(page->out, "<tr><th scope=\"row\">");
        page_escaped(page->out, cluster->name);
        tf_buf_str(page->out, "</th>");
        for (size_t i = 0; i < TF_ARRAY_LEN(columns); i++) {
            tf_buf_str(page->out, "<td>");
            page_figure(page, group, columns[i].figure, columns[i].form);
            tf_buf_str(page->out, "</td>");
        }
        tf_buf_str(page->out, "</tr>\n");
    }
    tf_buf_str(page->out, "</tbody></table></div>\n");
}

void page_clusters(struct page *page)
{
    unsigned count = HASH_COUNT(page->report->clusters), drawn = 0;
    page_section(page, "Clusters", "GPUs held in each cluster, in the colours of the classes above.");
    tf_buf_str(page->out, "<div class=\"many\">\n");
    for (struct report_group *cluster = page->report->clusters; cluster && drawn < CLUSTERS_DRAWN;
         cluster = cluster->hh.next, drawn++)
        draw_cluster(page, cluster);
    tf_buf_str(page->out, "</div>\n");
    if (drawn < count)
        tf_buf_fmt(page->out, "<p class=\"none\">%u clusters more are in the table only.</p>\n",
                   count - drawn);
    cluster_table(page);
    page_section_end(page);
}

/* ---- nodes ---- */

/* Neighbours that share a cell. */
struct cell {
    size_t first, count;
    int64_t held, there; /* GPU-ms */
};

static struct cell cell_of(const struct page *page, const struct report_site *site, size_t first,
                           size_t count)
{
    struct cell cell = {first, count, 0, 0};
    for (size_t i = first; i < first + count; i++) {
        const struct report_node *node = &site->nodes.items[i];
        cell.held += report_integral_at(&node->held_time, page->report->now);
        cell.there += report_integral_at(&node->there_time, page->report->now);
    }
    return cell;
}

static double share_held(const struct cell *cell)
{
    return cell->there > 0 ? fmin(1, (double)cell->held / (double)cell->there) : 0;
}

static const char *name_of(const struct report_site *site, size_t node)
{
    return site->names.items[node];
}

static void draw_cell(struct page *page, const struct report_site *site, const struct cell *cell)
{
    double share = share_held(cell);
    int heat = cell->there > 0 ? (int)fmin(share * PAGE_HEATS, PAGE_HEATS - 1) : -1;
    tf_buf_fmt(page->out, "<rect class=\"%s%d\" x=\"%zu\" width=\"%zu\" height=\"1\" data-gpu-hours=\"",
               heat < 0 ? "gone" : "h", heat < 0 ? 0 : heat, cell->first, cell->count);
    page_coordinate(page->out, (double)cell->held / TF_HOUR);
    tf_buf_str(page->out, "\"><title>");
    page_escaped(page->out, name_of(site, cell->first));
    if (cell->count > 1) {
        tf_buf_str(page->out, " … ");
        page_escaped(page->out, name_of(site, cell->first + cell->count - 1));
    }
    tf_buf_fmt(page->out, ": %.0f %%</title></rect>", 100 * share);
}

static void site_head(struct page *page, const struct report_site *site, const struct cell *least)
{
    size_t nodes = site->nodes.count;
    tf_buf_str(page->out, "<div class=\"strip\"><b>");
    page_escaped(page->out, site->group->name);
    tf_buf_fmt(page->out, "</b><span>%zu %s", nodes, nodes == 1 ? "node" : "nodes");
    if (nodes > 1 && least->there > 0) {
        tf_buf_str(page->out, ", the least used ");
        page_escaped(page->out, name_of(site, least->first));
        tf_buf_fmt(page->out, " for %.0f %% of its time", 100 * share_held(least));
    }
    tf_buf_str(page->out, "</span></div>");
}

static struct cell least_used(const struct page *page, const struct report_site *site)
{
    struct cell least = {0};
    for (size_t i = 0; i < site->nodes.count; i++) {
        struct cell cell = cell_of(page, site, i, 1);
        if (cell.there > 0 && (least.there == 0 || share_held(&cell) < share_held(&least)))
            least = cell;
    }
    return least;
}

static void draw_site(struct page *page, const struct report_site *site, size_t cells)
{
    size_t nodes = site->nodes.count, of_one = (nodes + cells - 1) / cells;
    struct cell least = least_used(page, site);
    if (nodes == 0)
        return;
    site_head(page, site, &least);
    tf_buf_fmt(
        page->out,
        "<svg class=\"row\" height=\"24\" role=\"img\" aria-label=\"part of its time for which each node "
        "was held\"><svg class=\"data\" width=\"100%%\" height=\"24\" preserveAspectRatio=\"none\" "
        "viewBox=\"0 0 %zu 1\" data-cells=\"clusters.",
        nodes);
    page_escaped(page->out, site->group->name);
    tf_buf_str(page->out, ".gpuHoursHeld\">");
    for (size_t i = 0; i < nodes; i += of_one) {
        struct cell cell = cell_of(page, site, i, nodes - i < of_one ? nodes - i : of_one);
        draw_cell(page, site, &cell);
    }
    tf_buf_str(page->out, "</svg></svg>\n");
}

static void heat_key(struct page *page)
{
    tf_buf_str(page->out, "<p class=\"heat\">0 % ");
    for (int i = 0; i < PAGE_HEATS; i++)
        tf_buf_fmt(page->out, "<i class=\"h%d\"></i>", i);
    tf_buf_str(page->out, " 100 % of its time</p>\n");
}

/* How many nodes were held for how much of their time: the strip in words. */
static void node_table(struct page *page)
{
    enum { PARTS = 4 };
    static const char *const heads[PARTS] = {"under 25 %", "25 to 50 %", "50 to 75 %", "over 75 %"};
    tf_buf_str(page->out,
               "<details><summary>In numbers: nodes by the part of their time for which they were "
               "held</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">cluster</th>");
    for (int i = 0; i < PARTS; i++)
        tf_buf_fmt(page->out, "<th scope=\"col\">%s</th>", heads[i]);
    tf_buf_str(page->out, "</tr></thead><tbody>\n");
    tf_vec_each (at, &page->report->sites) {
        size_t parts[PARTS] = {0};
        for (size_t i = 0; i < (*at)->nodes.count; i++) {
            struct cell cell = cell_of(page, *at, i, 1);
            parts[(int)fmin(share_held(&cell) * PARTS, PARTS - 1)]++;
        }
        tf_buf_str(page->out, "<tr><th scope=\"row\">");
        page_escaped(page->out, (*at)->group->name);
        tf_buf_str(page->out, "</th>");
        for (int i = 0; i < PARTS; i++)
            tf_buf_fmt(page->out, "<td>%zu</td>", parts[i]);
        tf_buf_str(page->out, "</tr>\n");
    }
    tf_buf_str(page->out, "</tbody></table></div></details>\n");
}

void page_nodes(struct page *page)
{
    size_t sites = page->report->sites.count, cells = sites ? CELLS_IN_ALL / sites : 0;
    if (cells > CELLS_A_CLUSTER)
        cells = CELLS_A_CLUSTER;
    page_section(page, "Nodes", "The part of its time for which GPUs of each node were held.");
    heat_key(page);
    tf_vec_each (at, &page->report->sites)
        draw_site(page, *at, cells ? cells : 1);
    node_table(page);
    page_section_end(page);
}
