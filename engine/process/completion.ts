/** What shells complete behind `weir`: made from the options and commands of the command line (cli.ts). */
import { COMMANDS, OPTIONS, type Shell } from './cli.ts'

interface Option {
  readonly long: string
  readonly short: string | null
  /** A file follows, or a text; null: nothing. */
  readonly takes: 'file' | 'text' | null
}

const options: readonly Option[] = Object.entries(OPTIONS).map(([name, option]) => ({
  long: `--${name}`,
  short: 'short' in option ? `-${option.short}` : null,
  takes: option.type === 'boolean' ? null : name === 'file' ? 'file' : 'text'
}))
const namesOf = ({ long, short }: Option): string[] => (short === null ? [long] : [short, long])
const words = [...Object.keys(COMMANDS), ...options.flatMap(namesOf)].join(' ')

/** A script that the shell reads: `source <(weir completion bash)`. */
export function completion(shell: Shell): string {
  return SCRIPTS[shell]()
}

function bash(): string {
  const takes = (kind: Option['takes']) => options.filter((option) => option.takes === kind).flatMap(namesOf)
  const commands = Object.entries(COMMANDS).filter(([, arguments_]) => arguments_.length > 0)
  return `_weir() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$before" in
    ${takes('file').join('|')}) compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")) ;;
    ${takes('text').join('|')}) COMPREPLY=() ;;
${commands.map(([name, next]) => `    ${name}) COMPREPLY=($(compgen -W "${next.join(' ')}" -- "$word")) ;;`).join('\n')}
    *) COMPREPLY=($(compgen -W "${words}" -- "$word")) ;;
  esac
}
complete -F _weir weir
`
}

function zsh(): string {
  const action = ({ takes }: Option) => (takes === null ? '' : takes === 'file' ? ':file:_files' : ':configuration:')
  const lines = options.flatMap((option) => namesOf(option).map((name) => `'${name}${action(option)}'`))
  const commands = Object.entries(COMMANDS)
  return `#compdef weir
_weir() {
  case "$words[2]" in
${commands.map(([name, next]) => `    ${name}) [[ $CURRENT -eq 3 ]] && compadd -- ${next.join(' ')}; return ;;`).join('\n')}
  esac
  [[ $CURRENT -eq 2 ]] && compadd -- ${commands.map(([name]) => name).join(' ')}
  _arguments ${lines.join(' ')}
}
if [[ "$funcstack[1]" == _weir ]]; then _weir "$@"
elif (( $+functions[compdef] )); then compdef _weir weir
else print -u2 'weir: completion needs zsh to have run: autoload -Uz compinit && compinit'
fi
`
}

function fish(): string {
  const lines = options.map(({ long, short, takes }) => {
    const names = `${short === null ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
    return `complete -c weir ${names}${takes === null ? '' : takes === 'file' ? ' -r -F' : ' -x'}`
  })
  const commands = Object.entries(COMMANDS).flatMap(([name, next]) => [
    `complete -c weir -n __fish_use_subcommand -a ${name}`,
    ...(next.length === 0 ? [] : [`complete -c weir -n '__fish_seen_subcommand_from ${name}' -a '${next.join(' ')}'`])
  ])
  return `${['complete -c weir -f', ...commands, ...lines].join('\n')}\n`
}

const SCRIPTS: Readonly<Record<Shell, () => string>> = { bash, zsh, fish }
