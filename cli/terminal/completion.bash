# bash completion for tvs
_tvs() {
  local line words=() COMPREPLY_ALL=()
  # bash splits COMP_WORDS at = and : too, so the words are read from the line up to the cursor.
  local current="" begun=""
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ "${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  begun="${words[${#words[@]}-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    [[ -n "$line" ]] && COMPREPLY_ALL+=("$line")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  # readline replaces only the text after the last = or :, so each candidate loses the text before it.
  current="${COMP_WORDS[COMP_CWORD]}"
  [[ "$current" == "=" || "$current" == ":" ]] && current=""
  local prefix="${begun%"$current"}"
  for line in "${COMPREPLY_ALL[@]}"; do COMPREPLY+=("${line#"$prefix"}"); done
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *, ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o bashdefault -o default -F _tvs tvs
