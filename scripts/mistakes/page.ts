/** docs/mistakes.md: what people write the first time, and what Weir says to it. */
import { backends } from '#backends/index.ts'
import { foreign } from '#engine/importers/foreign/index.ts'
import { formatErrors, type LoadResult, loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import type { Mistake } from './mistake.ts'
import { GROUPS } from './table.ts'

export const PAGE = 'docs/mistakes.md'

/** As the program loads it, in a folder with no other file, and without any variable. */
export function loaded(text: string, file = 'weir.yaml'): LoadResult {
  const missing = (path: string): never => {
    throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' })
  }
  const world = { file, folder: '/etc/weir', env: {}, processors: 2, readFile: missing }
  return loadConfig(text, { ...world, policies, backends, foreign })
}

/** What is printed; empty: the file is accepted. */
export function answerTo({ text, file }: Mistake): string {
  const result = loaded(text, file)
  return result.ok ? '' : formatErrors(result.errors).trimEnd()
}

const count = GROUPS.reduce((sum, { mistakes }) => sum + mistakes.length, 0)

/** Longer than this says what is allowed, which is a list for the screen. */
const LINE_CHARS_MAX = 160

const cut = (line: string): string => (line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX - 4)} ...` : line)

function section(mistake: Mistake): string {
  const language = /\.(?:yaml|json)$/.exec(mistake.file ?? 'weir.yaml')?.[0].slice(1) ?? 'text'
  const answer = answerTo(mistake).split('\n').map(cut).join('\n')
  return `**${mistake.what}**

\`\`\`${language}
${mistake.text.trimEnd()}
\`\`\`

\`\`\`text
${answer}
\`\`\`
`
}

export function pageText(): string {
  const groups = GROUPS.map(({ title, mistakes }) => `## ${title}\n\n${mistakes.map(section).join('\n')}`)
  return `# First mistakes

${count} files that are nearly right, or of another program, and what \`weir validate\` prints of each: the place, what is wrong, and how to mend it. A file has all its mistakes reported at once.
This page is made from a test (\`scripts/mistakes\`); [configuration.md](configuration.md) has every field.

${groups.join('\n')}`
}
