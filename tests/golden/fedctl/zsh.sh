#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What zsh offers at the end of a line, with the names of the federation: the function alone, and a real zsh at a
# terminal of its own. usage: zsh.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh
command -v zsh >/dev/null || {
    [ -z "${CI:-}" ] || { echo "zsh is not installed"; exit 1; }
    echo "zsh is not installed: skipped"
    exit 77
}

serve FEDD "$fake"
export TIDEFED_ENDPOINTS=$address PATH=$(dirname "$fedctl"):$PATH

offers() { # WORD...: the last is being typed; what does not begin with it is left out by zsh later
    printf '$ fedctl %s<TAB>\n' "$*" >>"$tmp/out"
    zsh -f -c '
        compdef() { [ "$*" = "_fedctl fedctl" ] || print "compdef $*" }
        compadd() { print -l -- "${(@P)argv[-1]}" }
        _files() { print "(files)" }
        source <(fedctl completion zsh)
        words=(fedctl "$@") CURRENT=$(($# + 1))
        _fedctl' zsh "$@" >>"$tmp/out" 2>&1
    echo >>"$tmp/out"
}
offers cordon ""
offers get jobs web/
offers get jobs --cluster ""
offers cluster forget ""
offers config get ""
offers apply -f ""
TIDEFED_ENDPOINTS=127.0.0.1:1 offers get clusters ""

# The line as it is after the TAB. The shell itself prints it (between < and >, so that its end is seen), after the
# keys before were worked off: nothing is waited for but its answer.
cat >"$tmp/typed.zsh" <<'END'
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'PS1= RPS1=; unsetopt prompt_sp; autoload -Uz compinit; compinit -u -D'
zpty -w terminal 'source <(fedctl completion zsh); print REA""DY'
zpty -r terminal seen '*READY*'
zpty -w -n terminal "$1"$'\t\C-aprint -r -- "<\C-e>"\n'
zpty -r terminal seen $'*\n<*>*'
print -r -- "${${seen##*$'\n'<}%%>*}"
zpty -d terminal
END
typed() { # LINE
    printf '$ %s<TAB>\n' "$1" >>"$tmp/out"
    TERM=dumb timeout 60 zsh -f "$tmp/typed.zsh" "$1" >>"$tmp/out" 2>&1 || echo "zsh ended with $?" >>"$tmp/out"
    echo >>"$tmp/out"
}
typed "fedctl unc"
typed "fedctl get jobs web/h"
typed "fedctl cluster forget u"
typed "fedctl get jobs --pha"
golden completion-zsh
summary
