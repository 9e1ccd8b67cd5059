/** What becomes of what a provider's format cannot say, for docs/llm-matrix.md. */
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { toleratedPaths } from '#backends/llm/translate/tolerance.ts'
import { TITLES } from './matrix-providers.ts'

/** The lines of rewrites.ts, and where they are for. */
const WORDS: readonly (readonly [input: string, ...output: string[]])[] = [
  [
    'instructions in the middle of a conversation',
    'follow those ahead of it, in order',
    '(Anthropic before Opus 4.8 and Sonnet 5, Gemini, Bedrock)'
  ],
  [
    'JSON without a schema',
    'an instruction behind the others (Anthropic, Bedrock).',
    'OpenAI wants the word JSON in what is said: it is added where it is not there'
  ],
  [
    '`custom` tools, `local_shell`, `shell`, `apply_patch`',
    'functions; a grammar stands in the description.',
    "Calls come back as the client's own, also in streams"
  ],
  [
    'who asks, longer than 64 (OpenAI) or 256 characters (Anthropic), or with signs that Bedrock does not take',
    'its SHA-256; not listed'
  ],
  [
    'calls in the history and no tools, or none to be called',
    'Bedrock wants tools then: one that is not to be called; not listed'
  ],
  [
    '`image/jpg` and other names of media types, files without a name',
    'the name that providers know; `document.pdf`; not listed'
  ],
  ['a result that is an error', 'the text begins with `Error` (OpenAI); not listed']
]

export function inOtherWords(): string {
  return `## In other words

| what a client says | where a provider has no place for it |
|---|---|
${WORDS.map(([input, ...output]) => `| ${input} | ${output.join(' ')} |`).join('\n')}

Claude does not think where a tool is forced, where the temperature is not 1, or, before 4.6, in a loop of tools whose
thoughts it has not signed: thinking, or the temperature, is left out then.`
}

export function leftOut(clients: readonly ClientFormat[]): string {
  const listed = (client: ClientFormat): string =>
    toleratedPaths(client)
      .map(({ path, isAlways }) => `\`${path}\`${isAlways ? '' : '\\*'}`)
      .join(', ')
  return `## What is left out without a refusal

Marks of caches and signatures anywhere, thoughts that another provider has had or that nobody has signed, references to
items, citations; whatever is null, or an empty text, map or list; and these fields where the provider's format has no
word for them. \`[@]\`: of the model's own turns. \\*: only with values that ask for nothing.

${clients.map((client) => `- ${TITLES[client]}: ${listed(client)}`).join('\n')}`
}
