#compdef tvs
# zsh completion for tvs
_tvs() {
  local -a found words_now
  local line word meaning
  words_now=("${(@Q)words[2,CURRENT]}")
  while IFS=$'\t' read -r word meaning; do
    [[ -n "$word" ]] && found+=("${word//:/\\:}${meaning:+:$meaning}")
  done < <("${(Q)words[1]}" __complete "${words_now[@]}" 2>/dev/null)
  if (( ${#found} )); then _describe -V tvs found; else _files; fi
}
if [[ "${funcstack[1]}" == _tvs ]]; then _tvs "$@"; else compdef _tvs tvs; fi
