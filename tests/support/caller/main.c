/* SPDX-License-Identifier: Apache-2.0 */
/* tf_caller PEERS PORT COUNT: a client with no patience, which shows what a move of a service costs its
 * users.
 *
 * Every 5 ms it opens a new connection to the next of the ready members that the peers file lists and asks
 * for
 * "/" there; it never tries a request again, and reads the file once a second. PEERS may be a pattern: then
 * it knows the members that all of these files list. It goes on until it has asked COUNT times and its stdin
 * has ended, then prints one line of JSON: how many requests there were and what became of them. Its exit
 * code is 0 if each was answered, else 1. */
#include "tests/support/caller/caller.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE_MS = 5,
    READ_EVERY_MS = 1000,
    PATIENCE_MS = 3000,
    OPEN_MAX = PATIENCE_MS / PAUSE_MS + 64, /* all of those that may wait at once */
};

struct client {
    const char *path, *port;
    struct peers peers;
    size_t next;
    int64_t ask_at, read_at;
    uint64_t asked, outcomes[OUTCOMES], nobody;
    struct call calls[OPEN_MAX];
    size_t open;
    bool told_to_end;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The call at this place is over; the last one takes the place. */
static void end(struct client *client, size_t place, enum outcome outcome)
{
    client->outcomes[outcome]++;
    if (outcome != OUTCOME_ANSWERED)
        fprintf(stderr, "request %llu: %s\n", (unsigned long long)client->asked, outcome_name(outcome));
    client->calls[place] = client->calls[--client->open];
}

static void ask(struct client *client, int64_t now)
{
    client->asked++;
    if (client->peers.ready.count == 0 || client->open == OPEN_MAX) {
        client->nobody++;
        return;
    }
    const struct sockaddr_in *to = &client->peers.ready.items[client->next++ % client->peers.ready.count];
    size_t place = client->open++;
    enum outcome outcome = call_begin(&client->calls[place], to, now + PATIENCE_MS);
    if (outcome != OUTCOME_OPEN)
        end(client, place, outcome);
}

static void tick(struct client *client, int64_t now)
{
    if (now >= client->read_at) {
        peers_read(&client->peers, client->path, client->port);
        client->read_at = now + READ_EVERY_MS;
    }
    if (now < client->ask_at)
        return;
    ask(client, now);
    client->ask_at = now + PAUSE_MS; /* a late one is not made up for by a burst */
}

static void serve(struct client *client, const struct pollfd *polled, int64_t now)
{
    /* From the last: the one that takes an ended one's place was served already. */
    for (size_t i = client->open; i-- > 0;) {
        enum outcome outcome = OUTCOME_OPEN;
        if (polled[i].revents)
            outcome = call_go_on(&client->calls[i]);
        else if (now >= client->calls[i].deadline_ms)
            outcome = call_expire(&client->calls[i]);
        if (outcome != OUTCOME_OPEN)
            end(client, i, outcome);
    }
}

static void look_at_stdin(struct client *client, const struct pollfd *in)
{
    char rest[64];
    if (in->revents && read(STDIN_FILENO, rest, sizeof rest) <= 0)
        client->told_to_end = true;
}

static void run(struct client *client, uint64_t count)
{
    static struct pollfd polled[OPEN_MAX + 1];
    while (client->open || client->asked < count || !client->told_to_end) {
        int64_t now = now_ms();
        if (client->asked < count || !client->told_to_end)
            tick(client, now);
        for (size_t i = 0; i < client->open; i++)
            polled[i] =
                (struct pollfd){.fd = client->calls[i].fd, .events = call_waits_for(&client->calls[i])};
        struct pollfd *in = &polled[client->open];
        *in = (struct pollfd){.fd = client->told_to_end ? -1 : STDIN_FILENO, .events = POLLIN};
        int64_t pause = client->ask_at - now_ms();
        poll(polled, client->open + 1, pause > 0 ? (int)pause : 0);
        look_at_stdin(client, in);
        serve(client, polled, now_ms());
    }
}

static int report(const struct client *client)
{
    printf("{\"requests\":%llu", (unsigned long long)client->asked);
    for (enum outcome o = OUTCOME_ANSWERED; o < OUTCOMES; o++)
        printf(",\"%s\":%llu", outcome_name(o), (unsigned long long)client->outcomes[o]);
    printf(",\"nobody\":%llu}\n", (unsigned long long)client->nobody);
    return client->outcomes[OUTCOME_ANSWERED] == client->asked ? 0 : 1;
}

int main(int argc, char **argv)
{
    char *rest = NULL;
    uint64_t count = argc == 4 ? strtoull(argv[3], &rest, 10) : 0;
    if (argc != 4 || *rest || count == 0) {
        fprintf(stderr, "usage: tf_caller PEERS_FILE PORT_NAME COUNT; it ends when it has asked so often and "
                        "its stdin has ended\n");
        return 2;
    }
    static struct client client;
    client.path = argv[1];
    client.port = argv[2];
    signal(SIGPIPE, SIG_IGN);
    if (!peers_read(&client.peers, client.path, client.port))
        return 2;
    client.read_at = now_ms() + READ_EVERY_MS;
    run(&client, count);
    tf_vec_release(&client.peers.ready);
    return report(&client);
}
