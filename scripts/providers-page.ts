/**
 * docs/llm-providers.md: the services and servers that Weir knows by name, from the rows that it asks them by
 * (backends/llm/providers/compatible.ts). npm run matrix -- --write puts it there.
 */
import { COMPATIBLE, type CompatibleService } from '#backends/llm/providers/compatible.ts'
import { type Dialect, OPENAI } from '#backends/llm/providers/dialect/dialect.ts'
import { providerKind } from '#backends/llm/providers/index.ts'

export const PROVIDERS_FILE = new URL('../docs/llm-providers.md', import.meta.url)

const code = (text: string): string => `\`${text}\``

function rowOf([name, service]: [string, CompatibleService]): string {
  const { baseUrl, example, aliases = [], key, dialect = {} } = service
  const names = [name, ...aliases].map(code).join(', ')
  const own = `as ${code(providerKind(name)?.name ?? 'openai')}`
  const address = baseUrl ?? (example === undefined ? own : `${code(example)}, in \`params.baseUrl\``)
  const shown = baseUrl === undefined ? address : code(baseUrl)
  return `| ${names} | ${shown} | ${key === undefined ? '' : code(`$${key}`)} | ${differences(dialect)} |`
}

function differences(dialect: Partial<Dialect>): string {
  const pairs = Object.entries(dialect).map(([field, value]) => {
    const words = Array.isArray(value) ? (value as readonly string[]).join(' ') : String(value)
    return `${field}: ${words === '' ? '[]' : words}`
  })
  return pairs.length === 0 ? '' : code(pairs.join(', '))
}

const FIELDS: { readonly [K in keyof Dialect]: string } = {
  streamOptions: 'streams may be asked for their usage (`stream_options`)',
  limit: 'the member that bounds an answer: `max_completion_tokens`, `max_tokens`',
  thoughts:
    'where the thoughts of earlier turns stand: `reasoning_content`, `reasoning`, `content` (parts of it), `none` (left out)',
  needsThoughts: 'a message with calls must have thoughts: it gets a blank where the history has none',
  developer: 'the role `developer` is taken; else such messages are `system`',
  textLists: 'content that is text may be a list; else it is one text',
  alternating: 'messages of one role that follow each other are made one',
  effort:
    'how much to think is said by: `reasoning_effort`; `thinking: { type }`, with `reasoning_effort` where `efforts` has words; `enable_thinking` and `thinking_budget`; `none`',
  efforts: 'the words of `reasoning_effort`: the nearest is sent. `[]`: all',
  outputs:
    'types of `response_format`, of `json_object`, `json_schema`; where the one asked for is none of them, the model is told what is wanted',
  forcedTool: 'the word of `tool_choice` for "some tool": `required`, `any`, `none` (it cannot be said)',
  namedTool: '`tool_choice` may name a tool; else it is the only one that is offered',
  strictTools: '`strict` of tools: `mixed`, `alike` (the same for all), `none`',
  callIds: 'ids of calls: `any`, `alphanumeric9` (nine letters and digits; others are hashed)',
  seed: 'the member of the seed: `seed`, `random_seed`',
  prefill:
    'the member that marks a last message of the model as the beginning of its answer, for clients of other formats: `none`, `partial`, `prefix`',
  refuses: 'members of a request that are refused',
  refusesInMessages: 'members of messages that are refused',
  refusesInSchemas: 'keywords of JSON Schema that are refused, in tools and in the form of the answer'
}

/** What is asked in no format of others'. */
const REPLICATE = `## Replicate

A model of Replicate is \`owner/name\`, \`owner/name:VERSION\` or \`deployments/owner/name\`. It is asked for a
prediction, a job, by clients of all formats:

- **Request.** Instructions, limits and settings have the names that the model has for them
  (backends/llm/formats/predictions/models.ts: by owner and name; \`prompt\`, \`system_prompt\`, \`max_tokens\`
  for those that are not listed). OpenAI's models take turns with their roles. Others take one prompt: a
  question alone is the prompt, and a conversation is written with \`User:\`, \`Assistant:\` ahead of each turn,
  which is named in \`x-weir-dropped\`: what a client writes in a turn can look like a turn there. Tools, calls,
  forms of answers, several answers, pictures where the model has no input for them are a 400 that names them.
  \`min_tokens\`, \`max_new_tokens\`, \`prompt_template\`, \`repetition_penalty\` and some more pass as they
  are.
- **Waiting.** Replicate holds the request for 5 seconds (\`Prefer: wait=5\`). Then Weir asks for the
  prediction, first every half second, later every 5 (a stream: every second, from the beginning). After 10
  minutes, or when the route's time is over or the client leaves, it is cancelled; \`Cancel-After\` tells
  Replicate of the 10 minutes as well. A client that leaves before the id is known is noticed when it is.
- **Answer.** A prediction that fails is 502, one that others have cancelled or that has run out of time 504, so
  that another provider is asked. Streams tell what has come since the last question. Most models tell their
  tokens; an answer of as many as were allowed has been cut off (\`length\`).
- **Addresses** in answers are not followed, and clients do not get them. The key goes to the host of the
  provider alone.
`

export function providersPage(): string {
  const rows = Object.entries<CompatibleService>(COMPATIBLE).map(rowOf)
  const fields = Object.entries(FIELDS).map(([field, text]) => {
    const usual = OPENAI[field as keyof Dialect]
    const value = Array.isArray(usual) ? `[${usual.join(', ')}]` : String(usual)
    return `| \`${field}\` | ${text} | \`${value}\` |`
  })
  return `# Providers by name

Written by \`npm run matrix -- --write\` from the rows that Weir asks them by
(backends/llm/providers/compatible.ts, which says where each is known from); a test holds this page to that.

These services and servers speak OpenAI's chat completions, each in its own way. A name stands for a \`provider\` in
[\`llm.models\`](configuration.md#llm), which then needs no address, and for a \`dialect\` of any provider that
speaks this format (in \`llm.models\` it stands in \`params\`). Without either,
the host decides. \`openai\`, \`azure\`, \`anthropic\`, \`gemini\`,
\`vertex\`, \`bedrock\`, \`cohere\`, \`watsonx\`, \`sagemaker\` and \`replicate\` have
[fields of their own](configuration.md#models).

\`\`\`yaml
llm:
  models:
    - name: fast
      provider: groq
      params: { model: openai/gpt-oss-120b, apiKey: $GROQ_API_KEY }
\`\`\`

Weir reads no variable that the file does not name; the last but one column has the one that clients of the service
look into. The last column is what differs from OpenAI, by the fields below.

| name | address | key | what differs |
|---|---|---|---|
${rows.join('\n')}

## Fields of \`dialect\`

For a server that has no name here, \`dialect\` says what differs from one that has:

\`\`\`yaml
provider:
  custom: {}
  host: models.internal
  dialect: { base: vllm, limit: max_completion_tokens, refuses: [user, store] }
\`\`\`

\`base\` is one of the names above; default: by the host, else \`openai\`.

| field | what it says | of OpenAI |
|---|---|---|
${fields.join('\n')}

A request is written so for clients of every format, those of OpenAI's own included. What is left out and changes
nothing of what is wanted stands in \`x-weir-dropped\`, as does what is said in other words; what means something
and has no place (\`n: 2\` to Groq, \`tool_choice: required\` to Z.ai) is a 400 that names it.
[\`unsupported\`](configuration.md#models) changes both. Members that say nothing (\`null\`, \`""\`, \`[]\`), which
SDKs write back with messages, are left out without a word.

${REPLICATE}`
}
