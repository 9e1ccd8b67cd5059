/** Recordings of shapes that were found in public ones: they come through, and what does not is told. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { recordingsIn } from './read.ts'
import { runRecordings } from './run.ts'

async function folder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'weir-recordings-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  return root
}

const lines = (...events: readonly object[]): string => events.map((event) => JSON.stringify(event)).join('\n')
const interaction = (uri: string, body: object) => ({
  request: { method: 'POST', uri },
  response: { headers: { 'content-type': ['application/json'] }, status: { code: 200 }, parsed_body: body }
})

const BEDROCK = 'packages/amazon-bedrock/src/__fixtures__'
const FILES = {
  // Without messageStart, and a text with a contentBlockStart of its own.
  [`${BEDROCK}/a.chunks.txt`]: lines(
    { contentBlockStart: { contentBlockIndex: 0, start: {} } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hm' } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
    { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: 't', name: 'f' } } } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: '{"a":1}' } } } },
    { contentBlockStop: { contentBlockIndex: 1 } },
    { messageStop: { stopReason: 'tool_use' } },
    { metadata: { usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } } }
  ),
  [`${BEDROCK}/broken.chunks.txt`]: '{"messageStart"',
  'packages/groq/src/__fixtures__/b.json': JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
  }),
  'packages/openai/src/responses/__fixtures__/abridged.chunks.txt': lines(
    { type: 'response.created', response: { id: 'r', object: 'response', status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm', delta: 'H' },
    { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'm', text: 'Hello' },
    { type: 'response.completed', response: { id: 'r', object: 'response', status: 'completed', output: [] } }
  ),
  'cassettes/c.yaml': stringify({
    interactions: [
      // The same tokens read from a cache and written into it.
      interaction('https://openrouter.ai/api/v1/chat/completions', {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: 20,
          completion_tokens: 1,
          total_tokens: 21,
          prompt_tokens_details: { cached_tokens: 16, cache_write_tokens: 16 }
        }
      }),
      // A call of a tool that was declared.
      interaction('https://aiplatform.googleapis.com/v1/models/g:generateContent', {
        candidates: [
          { content: { parts: [{ functionCall: { name: 'f', args: {} } }] }, finishReason: 'UNEXPECTED_TOOL_CALL' }
        ],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 }
      }),
      interaction('https://api.openai.com/v1/embeddings', { data: [] })
    ]
  })
}

test('what was found in recordings comes through to clients of all formats, and is counted', async (t) => {
  const root = await folder(t, FILES)
  const printed: string[] = []
  const { isSame, tally } = await runRecordings((line) => printed.push(line), root, { withMisses: true })
  assert.deepEqual(printed.slice(2), [
    '| aiplatform.googleapis.com, gemini | 1 + 0 | 1 + 0 | 1 + 0 | 1 + 0 |',
    '| amazon-bedrock, converse | 0 + 1 | 0 + 1 | 0 + 1 | 0 + 1 |',
    '| groq, completions | 1 + 0 | 1 + 0 | 1 + 0 | 1 + 0 |',
    '| openrouter.ai, completions | 1 + 0 | 1 + 0 | 1 + 0 | 1 + 0 |',
    'left out: packages/openai/src/responses/__fixtures__/abridged.chunks.txt#0: without all deltas',
    'recordings: 16 passed, 0 failed, 1 left out'
  ])
  assert.equal(isSame, true)
  assert.deepEqual(tally.toJSON(), {
    bedrock: { converse: 1 },
    groq: { completions: 1 },
    openrouter: { completions: 1 },
    vertexai: { gemini: 1 }
  })
})

test('what does not come through is told', async (t) => {
  // A client of chat completions reads 7 where the total says that there are more.
  const message = { role: 'assistant', content: 'Hi', tool_calls: [{ function: { name: 'f', arguments: '{"a":' } }] }
  const body = {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 }
  }
  const root = await folder(t, {
    'c.yaml': stringify({ interactions: [interaction('https://x/chat/completions', body)] })
  })
  const printed: string[] = []
  const { isSame, tally } = await runRecordings((line) => printed.push(line), root, { withMisses: true })
  assert.equal(isSame, false)
  assert.deepEqual(tally.toJSON(), {})
  assert.match(printed.join('\n'), /c\.yaml#0 to messages: calls: f\("\{\\"a\\":"\) -> /)
})

test('pictures that are no answers, and other APIs, are no recordings', async (t) => {
  const root = await folder(t, { ...FILES, 'packages/fal/src/__fixtures__/x.json': '{}' })
  const sources = [...recordingsIn(root)].map(({ source }) => source)
  assert.equal(
    sources.some((source) => source.includes('fal') || source.endsWith('#2')),
    false
  )
})

test('runs are kept as threads elsewhere: such a message is no chat', async (t) => {
  const uri = 'https://api.openai.com/v1/threads/t/messages'
  const root = await folder(t, {
    'c.yaml': stringify({ interactions: [interaction(uri, { object: 'thread.message' })] })
  })
  assert.deepEqual([...recordingsIn(root)], [])
})
