# shellcheck shell=bash disable=SC2154 # who sources this has set root
# What the commands share, to be sourced after `root` was set to the top of the tree: a step that is
# printed with its time while its output goes to a log, an error sentence, and the build.

# fail SENTENCE…: says what to do, and ends the command.
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# step LOG TITLE COMMAND…: runs the command with its output in build/logs/LOG.log. When it fails, the
# end of that log is shown. `set -e` does not reach into a function that is run like this.
step() {
  local log=$root/build/logs/$1.log title=$2 began=$SECONDS status=0
  shift 2
  mkdir -p "$root/build/logs"
  printf '==> %s … ' "$title"
  "$@" >"$log" 2>&1 || status=$?
  if ((status == 0)); then
    printf '%d s\n' $((SECONDS - began))
    return
  fi
  printf 'failed after %d s\n' $((SECONDS - began))
  tail -n 30 "$log" >&2
  printf 'The whole log is %s\n' "$log" >&2
  return "$status"
}

# How many compilers may run at once: one for each core, but none without 1.5 GB to itself.
parallel_jobs() {
  local cores memory limit jobs
  cores=$(nproc)
  memory=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1024 < memory)); then
    memory=$((limit / 1024))
  fi
  jobs=$((memory / 1500000))
  ((jobs < cores)) || jobs=$cores
  echo $((jobs > 1 ? jobs : 1))
}

# foreign_architecture NAME: that architecture, or where it is this machine's own, the other one of
# amd64 and arm64.
foreign_architecture() {
  if [[ $(uname -m) != "${machine_names[$1]}" ]]; then
    echo "$1"
  elif [[ $1 == amd64 ]]; then
    echo arm64
  else
    echo amd64
  fi
}
declare -A machine_names=([amd64]=x86_64 [arm64]=aarch64)

# build PRESET TARGET…: configures build/PRESET where that is due, then builds the targets, or all
# where none is named. A build directory that came from elsewhere with the tree is started anew.
build() {
  local preset=$1 directory=$root/build/$1 fresh=()
  shift
  if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$directory/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  if [[ ${#fresh[@]} -gt 0 || ! $directory/build.ninja -nt $root/CMakePresets.json ]]; then
    step "configure-$preset" "configuring build/$preset" \
      cmake -S "$root" --preset "$preset" "${fresh[@]}" \
      || fail "the build could not be configured; what is missing stands above."
  fi
  step "build-$preset" "building ${*:-everything} in build/$preset" \
    cmake --build "$directory" --parallel "$(parallel_jobs)" ${1:+--target "$@"} \
    || fail "the build failed; the compiler's words stand above."
}
