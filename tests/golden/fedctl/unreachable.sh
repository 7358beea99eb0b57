#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No federation at the other end: nothing listens, something else does, or what listens never answers. fedctl says so
# within its time-out, and what to do. usage: unreachable.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh

closed CLOSED
closed=$address
run --endpoints "$closed" get jobs
run --endpoints "$closed" apply -f $here/manifests/two.yaml
run --endpoints "$closed" wait web/hello --for=running --timeout 1m
run --endpoints "$closed" logs -f web/hello
run --endpoints "$closed" version
TIDEFED_ENDPOINTS=$closed run get clusters
mkdir -p "$tmp/home/.config/tidefed"
echo "endpoints: ['$closed', 'unix:/nowhere.sock']" >"$tmp/home/.config/tidefed/fedctl.yaml"
run get clusters
rm "$tmp/home/.config/tidefed/fedctl.yaml"
golden closed-port

serve HTTP perl -MIO::Socket::INET -e '
    $| = 1;
    my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 0, Listen => 16) or die $!;
    print $s->sockport, "\n";
    while (my $c = $s->accept) {
        sysread $c, my $request, 4096;
        print $c "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        close $c;
    }'
run --endpoints "$address" get jobs --timeout 2s
http=$address
golden web-server

serve SILENT perl -MIO::Socket::INET -e '
    $| = 1;
    my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 0, Listen => 16) or die $!;
    print $s->sockport, "\n";
    my @kept;
    while (my $c = $s->accept) { push @kept, $c }'
run --endpoints "$address" get jobs --timeout 700ms
run --endpoints "$address" delete web/hello --timeout 700ms
run --endpoints "$closed,$address" get jobs --timeout 700ms
silent=$address
golden silent-listener

# One good endpoint is enough, wherever it stands in the list.
serve FEDD "$fake"
run --endpoints "$closed,$address" get clusters -o name
run --endpoints "$http,$address" get clusters -o name
run --endpoints "$silent,$address" get clusters -o name --timeout 5s
golden one-of-several
summary
