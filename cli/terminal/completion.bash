# bash completion for tvs
_tvs() {
  local line words=() COMPREPLY_ALL=()
  # COMP_WORDS is parted at = and : as well; the line up to the cursor is not, once the shell's own words are joined.
  local current="" begun=""
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ "${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  begun="${words[${#words[@]}-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    [[ -n "$line" ]] && COMPREPLY_ALL+=("$line")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  # readline replaces only what follows the last = or : that it parts words at.
  current="${COMP_WORDS[COMP_CWORD]}"
  [[ "$current" == "=" || "$current" == ":" ]] && current=""
  local prefix="${begun%"$current"}"
  for line in "${COMPREPLY_ALL[@]}"; do COMPREPLY+=("${line#"$prefix"}"); done
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *, ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o bashdefault -o default -F _tvs tvs
