"""The shell scripts that run inside the Redis pods, as text: boot script, readiness probe, preStop hook.

They keep the boot rule of an instance that nobody watches: nearly every line answers an experiment or a known trap, and
`tests/boot` proves them on real Redis servers. Written for the shells of the official images, busybox ash (alpine) and
dash (debian), with redis-cli, timeout, sed, od, tr, grep, cat, hostname and mv; for Redis 6.2 and later.

This module holds text. It must import nothing and substitute nothing: what differs between instances reaches the
scripts through mounted files and the environment, so that a changed fact never changes a pod template.

Mounted at /etc/redisop: redis.conf, members, home, epoch, policy, max-lag and these scripts. At /etc/redisop-auth:
password, or no such folder. Writable: the volume /data, and /run/redisop in memory. Environment: NAME (of the
instance), POD_IP. The variables called REDISOP_* exist for tests that run many members on one machine.
"""

ENTRY = r"""#!/bin/sh
# Starts Redis without a role; then, only while no operator is at work, lets one member, and no other, lead again.
#
# With two or more members Redis boots *parked*: a replica of nothing, which answers no reads. So a pod that comes back
# empty, old or deposed can neither take a write nor wipe its replicas. Roles then come from
#   the operator     at once. Its connections are named "redisop"; while one of them is in use this script keeps still.
#   the home rule    after DELAY quiet seconds. Home is the member that the -master Service selects (file `home`).
#                    It leads when ALL members answer and agree on who is home, none of them leads, and its own data
#                    are surely not older than anybody's. Otherwise it holds, and says why. The others follow home once
#                    it leads. Nobody copies data to make a leader: `redisop reconcile --once` knows how.
set -uf
etc=${REDISOP_ETC:-/etc/redisop}
secret=${REDISOP_SECRET:-/etc/redisop-auth}
run=${REDISOP_RUN:-/run/redisop}
volume=${REDISOP_DATA:-/data}
role_file=$volume/redisop.role
lf='
'
cr=$(printf '\r')
ifs=$IFS

# -- asking -----------------------------------------------------------------------------------------------------------
say()    { echo "redisop: $*"; }
hold()   { [ "$why" = "$*" ] || say "hold: $*"; why=$*; }
did()    { say "$*"; why=; quiet=0; }
ok()     { [ "$("$@")" = OK ]; }     # an error reply leaves redis-cli with status 0: only the answer counts
clock()  { read -r now _ </proc/uptime; now=${now%.*}; }

number() {  # -> value: the number in the mounted file $1; fails when there is none
  value=
  [ -r "$etc/$1" ] && read -r value <"$etc/$1"
  case $value in ''|*[!0-9]*) return 1;; esac
}

refresh() {  # read anew each tick: scaling and failover change them while Redis runs; the last known value stands
  number members && members=$value
  number home && home=$value
  number epoch && epoch=$value
  policy=
  [ -r "$etc/policy" ] && read -r policy <"$etc/policy"
}

ask() (  # a subshell: the password stands in the environment of this one redis-cli and nowhere else
  member=$1; shift
  if [ -n "${REDISOP_MAP:-}" ]; then host=$(cat "$REDISOP_MAP/$member")
  elif [ "$member" = "$self" ]; then host=127.0.0.1
  else host=$NAME-$member.$NAME-headless; fi
  [ -z "$password" ] || export REDISCLI_AUTH="$password"
  exec timeout 1 redis-cli -h "$host" "$@" 2>/dev/null
)

look() {  # member $1 -> what INFO says, in one answer; fails when it does not answer or is loading
  role='' link='' host='' id='' at='' led='' data='' shown='' loading='' log='' rewriting='' keyspace=''
  info=$(ask "$1" INFO) || return 1
  IFS=$cr$lf
  for line in $info; do
    case $line in
      role:*)                          role=${line#*:};;
      master_link_status:*)            link=${line#*:};;
      master_host:*)                   host=${line#*:};;
      master_replid:*)                 id=${line#*:};;
      slave_repl_offset:*)             at=${line#*:};;
      master_repl_offset:*)            led=${line#*:};;
      slave_priority:*)                shown=${line#*:};;
      loading:*)                       loading=${line#*:};;
      aof_enabled:1)                   log=1;;
      aof_rewrite_in_progress:1|aof_rewrite_scheduled:1|aof_last_bgrewrite_status:err) rewriting=1;;
      '# Keyspace')                    keyspace=1;;
      db[0-9]*:keys=*)                 data=1;;      # any database; DBSIZE would count only the first
    esac
  done
  IFS=$ifs
  [ "$role" != master ] || at=$led
  [ "${at:-0}" -gt 1 ] || at=0                       # unknown: after an AOF restart, and on 6.2 after a refused sync
  [ -n "$role" ] && [ "$loading" = 0 ] && [ -n "$keyspace" ]
}

locate() {  # member $1 -> address, as it announces it; Redis gets addresses, never names
  address=$(ask "$1" CONFIG GET replica-announce-ip) || return 1
  case $address in replica-announce-ip"$lf"?*) address=${address#*"$lf"};; *) return 1;; esac
}

at_work() {  # is an operator at work on member $1? Idle for 10 s is frozen, not at work; no answer is not a no
  { ask "$1" CLIENT LIST TYPE normal || echo unknown; } |
    grep -q -e '^unknown$' -e ' name=redisop age=[0-9]* idle=[0-9] '
}

# -- the home rule ----------------------------------------------------------------------------------------------------
others_allow() {  # look at every member, once; true when none of them speaks against me
  look "$self" || return 1
  [ "$role" = slave ] || return 1
  [ "$link" != up ] || { hold "home (this member) follows $host, which is alive"; return 1; }
  ! at_work "$self" || { quiet=0; return 1; }
  my_id=$id my_at=$at my_data=$data my_log=$log
  seen="$self:$id:$at:$data" known=" $POD_IP " alive='' i=0
  while [ "$i" -lt "$members" ]; do
    [ "$i" = "$self" ] || other_allows "$i" || return 1
    i=$((i + 1))
  done
  for leader in $alive; do                           # judged last: a chain behind a parked member is no leader
    case $known in *" $leader "*) ;; *) hold "somebody follows $leader, which is alive"; return 1;; esac
  done
}

other_allows() {
  { look "$1" && locate "$1"; } || { hold "member $1 does not answer, or is loading"; return 1; }
  ! at_work "$1" || { quiet=0; return 1; }
  [ "$role" = slave ] || { hold "member $1 leads, but the Service selects member $self"; return 1; }
  [ "$shown" = $((100 + self)) ] || { hold "member $1 does not take member $self for home, or not yet"; return 1; }
  known="$known$address " seen="$seen $1:$id:$at:$data"
  [ "$link" != up ] || alive="$alive $host"
  # The first that fits:
  if   [ -z "$data" ] && [ "$at" = 0 ]; then return 0          # blank: nothing to lose
  elif [ -z "$data" ] && [ -z "$my_data" ]; then return 0      # nobody has a key, whatever there was once
  elif [ "$policy" = Available ]; then return 0                # the user prefers any leader to none
  elif [ -z "$my_data" ]; then hold "member $1 has data and this one has none"; richer=$1
  elif [ "$id" = "$my_id" ] && [ "$at" != 0 ] && [ "$my_at" != 0 ]; then   # one history, both positions known
    [ "$at" -gt "$my_at" ] || return 0
    hold "member $1 is ahead of this one"
  elif [ -n "$my_log" ] && [ "$my_at" = 0 ] && led_last; then return 0     # a log keeps the data, but not the position
  else hold "cannot tell whether member $1 or this one has the newer data"; fi
  return 1
}

led_last() { fact=; [ -r "$role_file" ] && read -r fact <"$role_file"; [ "$fact" = "primary $epoch" ]; }

as_home() {
  [ "$self" -lt "$members" ] || { hold "there are $members members, and this one is member $self"; return; }
  [ "$members" -gt 1 ] || ! ask 1 PING >/dev/null || { hold "alone by the member list, but member 1 answers"; return; }
  [ "$members" -gt 1 ] || [ -z "$richer" ] || { hold "alone now, but member $richer had data, this one none"; return; }
  others_allow || return
  first=$seen
  clock; began=$now
  others_allow || return
  [ "$seen" = "$first" ] || { hold "the members changed between two looks"; return; }
  clock                                              # an operator acts 2 s after it came: what was seen must be younger
  [ $((now - began)) -lt 2 ] || { hold "looking at all members took too long"; return; }
  ok ask "$self" REPLICAOF NO ONE || return
  did "leads: all $members members agree, and none is newer ($seen)"
  unpark
  look "$self" && remember
}

as_member() {
  { look "$home" && [ "$role" = master ] && locate "$home"; } || { hold "home (member $home) does not lead"; return; }
  look "$self" && [ "$role" = slave ] || return
  [ "$host" = "$address" ] || { ok ask "$self" REPLICAOF "$address" 6379 && did "follows member $home at $address"; }
}

remember() {  # what I am, beside the data: after a restart it tells whether the log on this volume is complete
  case $role:$link:$remembered in
    master:*) fact="primary $epoch";;
    slave:up:*|slave:*:primary*) fact=replica;;      # deposed: its log ends here, synced with the next primary or not
    *) return;;                                      # parked or cut off: nothing new was learned
  esac
  [ "$fact" != "$remembered" ] || return
  [ -z "$rewriting" ] || [ "$role" = slave ] || return   # until rewritten after a full sync, the log is an old one
  if { printf '%s\n' "$fact" >"$role_file.new" && mv "$role_file.new" "$role_file"; } 2>/dev/null; then
    remembered=$fact
  else hold "$role_file cannot be written"; fi
}

tell_home() {  # everyone sees whom I take for home: mounted files lag, and two members must not both think it is them
  [ "$told" = "$home" ] || { ok ask "$self" CONFIG SET replica-priority $((100 + home)) && told=$home; }
}

unpark() {  # it leads, or has synced: from now on it answers reads when the link is lost, and lets replicas sync
  [ -n "$parked" ] || return
  ok ask "$self" CONFIG SET replica-serve-stale-data yes && ok ask "$self" ACL SETUSER redisop-replica on && parked=''
}

change_over() {  # to the persistence.mode that is wanted, once what another one left on the volume has been loaded
  case $turn in
    log)  ok ask "$self" CONFIG SET appendonly yes || return;;
    dump) saved=$(ask "$self" LASTSAVE)              # the log may go when a dump has been written since the start
          : "${loaded:=$saved}"
          [ "$saved" != "$loaded" ] || { ask "$self" BGSAVE >/dev/null; return; }
          ok ask "$self" CONFIG SET appendonly no && rm -rf "$volume/appendonly.aof" "$volume/appendonlydir" || return;;
    none) ok ask "$self" CONFIG SET appendonly no || return
          rm -rf "$volume/appendonly.aof" "$volume/appendonlydir" "$volume/dump.rdb" || return;;
  esac
  say "loaded the $found of another persistence.mode, keeps $turn from now on"
  turn=''
}

watch() {
  quiet=0 why='' remembered='' loaded='' richer='' tick=$unsettled
  while sleep "$tick"; do
    tick=$unsettled
    refresh
    look "$self" || continue
    tell_home
    remember
    if [ "$role" = master ] || [ "$link" = up ]; then
      unpark
      [ -z "$turn" ] || change_over                  # not before: that a log was loaded speaks for home
    fi
    if [ "$role" = master ] || { [ "$link" = up ] && [ "$self" != "$home" ]; }; then quiet=0 tick=$settled; continue; fi
    if at_work "$self"; then quiet=0; continue; fi
    quiet=$((quiet + 1))
    [ "$quiet" -gt "$delay" ] || continue
    if [ "$self" = "$home" ]; then as_home; else as_member; fi
  done
}

# -- start ------------------------------------------------------------------------------------------------------------
need() { number "$1" || fail "$etc/$1: a number is needed, found '$value'"; }
fail() { say "$*"; exit 1; }

delay=${REDISOP_DELAY:-10} unsettled=${REDISOP_TICK:-1} settled=${REDISOP_SETTLED_TICK:-2}
need members; need home; need epoch                  # guessing "1" would boot a second primary
refresh
self=${REDISOP_SELF:-$(hostname)}
self=${self##*-}
umask 077
password=
if [ -e "$secret/password" ]; then
  password=$(cat "$secret/password"; printf .)
  password=${password%.}
  password=${password%"$lf"}                         # exactly one trailing newline is dropped
  [ -n "$password" ] || fail "$secret/password: a password is needed, and the file is empty or cannot be read"
fi
printf %s "$password" >"$run/password" || fail "$run/password cannot be written"   # for probe and hook
quoted=$(printf %s "${password:-redisop}" | od -An -v -tx1 | tr -d ' \n' | sed 's/../\\x&/g')

# A volume that was written under another persistence.mode: Redis would boot empty beside what it holds, and lose it.
# So it loads what is there, and changes over while it runs.
found=none wanted=dump
[ ! -s "$volume/dump.rdb" ] || found=dump
if [ -s "$volume/appendonly.aof" ] || [ -s "$volume/appendonlydir/appendonly.aof.manifest" ]; then found=log; fi
if grep -q '^appendonly yes' "$etc/redis.conf"; then wanted=log
elif grep -q '^rdb-del-sync-files yes' "$etc/redis.conf"; then wanted=none; fi
case $found:$wanted in
  dump:log)           turn=log loads='appendonly no';;
  log:dump|log:none)  turn=$wanted loads='appendonly yes';;
  dump:none)          turn=none loads='';;
  *)                  turn='' loads='';;
esac

# Alone, it leads at once. Not so where member 1 answers: then the member list here is a minute behind a change of
# scale, and an empty volume would wipe those that copied it.
parked=yes told=$home
[ "$members" != 1 ] || [ "$self" != 0 ] || ask 1 PING >/dev/null || parked=''
# Replicas sync as a user of their own, which a parked member does not let in. With replica-serve-stale-data no it would
# answer PSYNC with MASTERDOWN: they forget their position (6.2), and ask again a thousand times a second.
if [ -n "$parked" ]; then boots=parked replicas=off; else boots=alone replicas=on; fi
{
  cat "$etc/redis.conf" && echo && echo "$loads" &&
  { [ -z "$password" ] || printf 'requirepass "%s"\n' "$quoted"; } &&
  printf 'user redisop-replica %s ">%s" +psync +sync +replconf +ping\n' "$replicas" "$quoted" &&
  printf 'masteruser redisop-replica\nmasterauth "%s"\n' "$quoted" &&
  printf 'replica-announce-ip %s\nreplica-priority %s\n' "$POD_IP" $((100 + home)) &&
  { [ -z "$parked" ] || printf 'replicaof 127.0.0.1 1\nreplica-serve-stale-data no\n'; }
} >"$run/redis.conf" || fail "$run/redis.conf cannot be made"   # half of it would boot a primary with other settings
say "member $self of $members, home is member $home, epoch $epoch: boots $boots"

# The shell stays process 1: it reaps what the loop leaves behind (Redis as process 1 does not), and passes SIGTERM on.
"${REDISOP_SERVER:-redis-server}" "$run/redis.conf" &
server=$!
trap 'interrupted=1; kill -TERM "$server"' TERM INT
watch &
interrupted=1
while [ -n "$interrupted" ]; do interrupted=; wait "$server"; code=$?; done
exit "$code"
"""

READY = r"""#!/bin/sh
# Ready: not loading, not parked, and primary, or in sync, or out of sync for less than max-lag seconds after it was in
# sync: reads go on through a failover. A member that was never in sync is not Ready, however young.
set -uf
etc=${REDISOP_ETC:-/etc/redisop}
run=${REDISOP_RUN:-/run/redisop}
lf='
'
not() { echo "redisop: not Ready: $*"; exit 1; }

[ -r "$run/password" ] || not "not started yet"
read -r max_lag <"$etc/max-lag"
password=$(cat "$run/password"; printf .)
password=${password%.}
[ -z "$password" ] || export REDISCLI_AUTH="$password"
info=$(timeout 2 redis-cli -h "${REDISOP_ADDRESS:-127.0.0.1}" INFO 2>/dev/null) || not "Redis does not answer"

loading='' role='' host='' port='' link='' heard='' down=''
IFS=$(printf '\r')$lf
for line in $info; do
  case $line in
    loading:*)                       loading=${line#*:};;
    role:*)                          role=${line#*:};;
    master_host:*)                   host=${line#*:};;
    master_port:*)                   port=${line#*:};;
    master_link_status:*)            link=${line#*:};;
    master_last_io_seconds_ago:*)    heard=${line#*:};;
    master_link_down_since_seconds:*) down=${line#*:};;
  esac
done

[ -n "$loading" ] || not "Redis says: $info"
[ "$loading" = 0 ] || not "loading"
[ "$role" != master ] || exit 0
[ "$host $port" != "127.0.0.1 1" ] || not "parked"
if [ "$link" = up ]; then
  [ "$heard" -le "$max_lag" ] || not "nothing heard from the primary for $heard s"
else
  # -1: it was never in sync.
  [ "$down" -ge 0 ] && [ "$down" -lt "$max_lag" ] || not "link down for $down s"
fi
"""

HANDOVER = r"""#!/bin/sh
# Before this pod goes: while it is primary, with a replica to take over, and an operator is at work on it, wait until
# the role has moved, 15 s at most.
set -uf
run=${REDISOP_RUN:-/run/redisop}
password=$(cat "$run/password"; printf .)
password=${password%.}
[ -z "$password" ] || export REDISCLI_AUTH="$password"

ask()     { timeout 1 redis-cli -h "${REDISOP_ADDRESS:-127.0.0.1}" "$@" 2>/dev/null; }
clock()   { read -r now _ </proc/uptime; now=${now%.*}; }
leads()   { [ "$(ask INFO replication | grep -c -e '^role:master' -e '^connected_slaves:[1-9]')" = 2 ]; }
at_work() { ask CLIENT LIST TYPE normal | grep -q ' name=redisop age=[0-9]* idle=[0-9] '; }   # idle for 10 s: frozen

clock
end=$((now + 15))
while leads && at_work && [ "$now" -lt "$end" ]; do
  sleep 0.5
  clock
done
exit 0
"""
