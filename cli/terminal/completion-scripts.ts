/**
 * What each shell runs at Tab: it hands the words to `tvs __complete` and shows the lines that come back, a word
 * and its meaning parted by a tab. The program that stands on the line is asked, so that `./tvs` and a second
 * installation complete their own commands.
 */

const bash = String.raw`# bash completion for tvs
_tvs() {
  local line words=() COMPREPLY_ALL=()
  # COMP_WORDS is parted at = and : as well; the line up to the cursor is not, once the shell's own words are joined.
  local current="" begun=""
  read -ra words <<< "${"$"}{COMP_LINE:0:COMP_POINT}"
  [[ "${"$"}{COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  begun="${"$"}{words[${"$"}{#words[@]}-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    [[ -n "$line" ]] && COMPREPLY_ALL+=("$line")
  done < <("${"$"}{words[0]}" __complete "${"$"}{words[@]:1}" 2>/dev/null)
  # readline replaces only what follows the last = or : that it parts words at.
  current="${"$"}{COMP_WORDS[COMP_CWORD]}"
  [[ "$current" == "=" || "$current" == ":" ]] && current=""
  local prefix="${"$"}{begun%"$current"}"
  for line in "${"$"}{COMPREPLY_ALL[@]}"; do COMPREPLY+=("${"$"}{line#"$prefix"}"); done
  if [[ ${"$"}{#COMPREPLY[@]} -eq 1 && "${"$"}{COMPREPLY[0]}" == *, ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o bashdefault -o default -F _tvs tvs
`;

const zsh = String.raw`#compdef tvs
# zsh completion for tvs
_tvs() {
  local -a found words_now
  local line word meaning
  words_now=("${"$"}{(@Q)words[2,CURRENT]}")
  while IFS=$'\t' read -r word meaning; do
    [[ -n "$word" ]] && found+=("${"$"}{word//:/\\:}${"$"}{meaning:+:$meaning}")
  done < <("${"$"}{(Q)words[1]}" __complete "${"$"}{words_now[@]}" 2>/dev/null)
  if (( ${"$"}{#found} )); then _describe -V tvs found; else _files; fi
}
if [[ "${"$"}{funcstack[1]}" == _tvs ]]; then _tvs "$@"; else compdef _tvs tvs; fi
`;

const fish = String.raw`# fish completion for tvs
function __tvs_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c tvs -f -a '(__tvs_complete)'
`;

export const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
