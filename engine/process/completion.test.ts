/** The scripts as shells read them; a shell that is not installed is left to those who have it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS, SHELLS } from './cli.ts'
import { completion } from './completion.ts'

/** What `shell` prints, without the settings of a user; null: it is not installed. */
function run(shell: string, script: string, cwd?: string): string | null {
  const { stdout, stderr, error } = spawnSync(shell, [shell === 'zsh' ? '-fc' : '-c', script], {
    encoding: 'utf8',
    cwd
  })
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null
  assert.equal(stderr, '')
  return stdout
}

test('each script names every command', () => {
  for (const shell of SHELLS) for (const name of Object.keys(COMMANDS)) assert.match(completion(shell), RegExp(name))
})

test('bash completes commands, their arguments, and files with spaces in their names', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-completion-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'my weir.yaml'), '')
  const replies = (...words: string[]) =>
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _weir; printf '<%s>' "\${COMPREPLY[@]}"; echo`
  const commands = [replies('weir', 'sch'), replies('weir', 'completion', ''), replies('weir', '-f', 'my')]
  const output = run('bash', [completion('bash'), 'compopt() { :; }', ...commands].join('\n'), folder)
  if (output !== null) assert.equal(output, '<schema>\n<bash><zsh><fish>\n<my weir.yaml>\n')
})

test('zsh reads the script from a file of its own as well as sourced', () => {
  const known = 'echo $_comps[weir]'
  const output = run('zsh', ['autoload -U compinit; compinit -D', completion('zsh'), known].join('\n'))
  if (output !== null) assert.equal(output, '_weir\n')
  // As an autoloaded function its first call must complete, not define only.
  const autoloaded = `compadd() { print -- "$@"; }; _arguments() { :; }; words=(weir completion ''); CURRENT=3
_weir() {\n${completion('zsh')}\n}\n_weir`
  const first = run('zsh', autoloaded)
  if (first !== null) assert.equal(first, '-- bash zsh fish\n')
})

test('fish completes commands and their arguments', () => {
  const output = run('fish', `${completion('fish')}\ncomplete -C 'weir comp'\ncomplete -C 'weir completion '`)
  if (output !== null) assert.equal(output, 'completion\nbash\nfish\nzsh\n')
})
