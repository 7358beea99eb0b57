/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/plan.h"

void tf_plan_victim_release(struct tf_plan_victim *victim)
{
    free(victim->tenant);
    free(victim->name);
    free(victim->level);
    *victim = (struct tf_plan_victim){0};
}

void tf_plan_node_release(struct tf_plan_node *node)
{
    free(node->node);
    *node = (struct tf_plan_node){0};
}

void tf_place_plan_release(struct tf_place_plan *plan)
{
    tf_vec_each (node, &plan->nodes)
        tf_plan_node_release(node);
    tf_vec_each (victim, &plan->victims)
        tf_plan_victim_release(victim);
    tf_vec_release(&plan->nodes);
    tf_vec_release(&plan->victims);
    free(plan->text);
    free(plan->model);
    *plan = (struct tf_place_plan){0};
}
