import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, Choice, Json, JsonObject, Part, Usage } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { gemini } from './index.ts'

const FROM = { model: 'gemini-3-pro', isStreamed: false }
const CONTEXT = { model: 'gemini-3-pro', wantsUsage: true, at: 0, id: 'fresh' }
const RUNS = { numRuns: 500 }

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const text = fc.string({ minLength: 1, maxLength: 12 })
const bytes = fc.stringMatching(/^[A-Za-z0-9+/]{4,12}$/)
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { requiredKeys: [] }).map((value) => value as unknown as JsonObject)
const args = fc.dictionary(word, fc.jsonValue({ maxDepth: 2 })).map((value) => value as JsonObject)
const natural = fc.integer({ min: 1, max: 1000 })

// --- requests ---

const schema = fc.constantFrom<JsonObject>(
  { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } }, required: ['a'], propertyOrdering: ['a'] },
  { type: 'ARRAY', items: { type: 'INTEGER' }, maxItems: '3' },
  { anyOf: [{ type: 'NUMBER' }, { type: 'STRING', enum: ['x'], example: 'x' }] }
)
const jsonSchema = fc.constantFrom<JsonObject>({ type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, {})
const media = fc.oneof(
  fc.record({
    inlineData: fc.record({ mimeType: fc.constantFrom('image/png', 'audio/wav', 'application/pdf'), data: bytes })
  }),
  fc.record({
    fileData: fc.record({
      mimeType: fc.constantFrom('video/mp4', 'text/plain'),
      fileUri: fc.constantFrom('gs://bucket/x', 'https://example.com/x.mp4')
    })
  })
)
const signed = <T extends object>(part: fc.Arbitrary<T>) =>
  fc
    .tuple(part, fc.option(bytes))
    .map(([value, seal]) => (seal === null ? value : { ...value, thoughtSignature: seal }))
const modelPart = fc.oneof(
  signed(fc.record({ text })),
  signed(fc.record({ text, thought: fc.constant(true) })),
  signed(fc.record({ functionCall: fc.record({ name: word, args }) })),
  signed(fc.record({ functionCall: fc.record({ id: bytes, name: word, args }) })),
  signed(media),
  fc.record({ text: fc.constant(''), thoughtSignature: bytes }),
  fc.record({ executableCode: fc.record({ language: fc.constant('PYTHON'), code: text }) }),
  fc.record({ codeExecutionResult: fc.record({ outcome: fc.constant('OUTCOME_OK'), output: text }) })
)
const response = fc.oneof(
  args,
  fc.record({ output: fc.oneof(text, fc.constant('{"a":1}')) }),
  fc.record({ error: text }),
  fc.record({ output: args })
)
const userPart = fc.oneof(
  fc.record({ text }),
  media,
  fc.tuple(media, args).map(([value, partMetadata]) => ({ ...value, partMetadata })),
  fc
    .record({ id: bytes, name: word, response, parts: fc.array(media, { minLength: 1, maxLength: 2 }) })
    .map((functionResponse) => ({ functionResponse })),
  fc.record({ id: bytes, name: word, response }).map((functionResponse) => ({ functionResponse }))
)
const content = fc.oneof(
  fc.record({ role: fc.constant('user'), parts: fc.array(userPart, { maxLength: 4 }) }),
  fc.record({ role: fc.constant('model'), parts: fc.array(modelPart, { maxLength: 4 }) })
)
const declaration = fc
  .tuple(
    word,
    some({ description: text, behavior: fc.constant('BLOCKING'), response: schema }),
    fc.oneof(
      fc.constant({}),
      schema.map((parameters) => ({ parameters })),
      jsonSchema.map((parametersJsonSchema) => ({ parametersJsonSchema }))
    )
  )
  .map(([name, more, parameters]) => ({ name, ...more, ...parameters }))
const functions = fc.record({ functionDeclarations: fc.array(declaration, { minLength: 1, maxLength: 3 }) })
const native = fc.constantFrom<JsonObject>({ googleSearch: {} }, { codeExecution: {}, urlContext: {} })
// Rows of functions are written as one entry.
const tools = fc
  .array(fc.oneof(functions, native), { minLength: 1, maxLength: 4 })
  .map((list) =>
    list.filter((item, i) => !('functionDeclarations' in item && 'functionDeclarations' in (list[i - 1] ?? {})))
  )
const calling = fc.constantFrom<JsonObject>(
  { mode: 'AUTO' },
  { mode: 'NONE' },
  { mode: 'ANY' },
  { mode: 'ANY', allowedFunctionNames: ['f'] },
  { mode: 'ANY', allowedFunctionNames: ['f', 'g'] },
  { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
  { mode: 'VALIDATED', streamFunctionCallArguments: true }
)
const output = fc.oneof(
  fc.constant({}),
  fc.constant({ responseMimeType: 'application/json' }),
  fc.record({ responseMimeType: fc.constantFrom('application/json', 'text/x.enum'), responseSchema: schema }),
  fc.record({ responseMimeType: fc.constant('application/json'), responseJsonSchema: jsonSchema })
)
const generationConfig = fc
  .tuple(
    some({
      maxOutputTokens: natural,
      temperature: fc.constantFrom(0, 0.5, 2),
      topP: fc.constantFrom(0.1, 1),
      topK: natural,
      stopSequences: fc.array(text, { minLength: 1, maxLength: 3 }),
      seed: natural,
      candidateCount: natural,
      presencePenalty: fc.constant(-0.5),
      frequencyPenalty: fc.constant(0.5),
      responseModalities: fc.constant(['TEXT', 'IMAGE']),
      speechConfig: fc.constant({ voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } }),
      mediaResolution: fc.constant('MEDIA_RESOLUTION_LOW'),
      thinkingConfig: fc.constantFrom(
        { thinkingBudget: 0 },
        { thinkingBudget: -1, includeThoughts: true },
        { thinkingBudget: 100, includeThoughts: false },
        { thinkingLevel: 'LOW' },
        { includeThoughts: true }
      )
    }),
    output,
    fc.constantFrom({}, { responseLogprobs: true }, { responseLogprobs: true, logprobs: 5 }, { logprobs: 3 })
  )
  .map(([a, b, c]) => ({ ...a, ...b, ...c }))
  .filter((value) => Object.keys(value).length > 0)
const request = fc
  .tuple(
    fc.array(content, { minLength: 1, maxLength: 4 }),
    some({
      systemInstruction: fc.record({ parts: fc.array(fc.oneof(fc.record({ text }), media), { minLength: 1 }) }),
      tools,
      toolConfig: fc
        .tuple(calling, some({ retrievalConfig: fc.constant({ languageCode: 'en' }) }))
        .map(([functionCallingConfig, more]) => ({ functionCallingConfig, ...more })),
      generationConfig,
      safetySettings: fc.constant([{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]),
      cachedContent: word,
      labels: fc.dictionary(word, word, { minKeys: 1 }),
      serviceTier: fc.constantFrom('flex', 'priority')
    })
  )
  .map(([contents, more]) => ({ contents, ...more }) as unknown as JsonObject)

test('a request is written as it was read', () => {
  fc.assert(
    fc.property(request, (body) => {
      const wire = JSON.parse(JSON.stringify(body)) as JsonObject
      const losses = new Losses()
      assert.deepEqual(gemini.writeRequest(gemini.readRequest(wire, FROM), losses), wire)
      assert.deepEqual(losses.fields, [])
    }),
    RUNS
  )
})

// --- answers ---

const seal = fc.record({ format: fc.constantFrom('gemini' as const, 'messages' as const), data: bytes })
const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((value): Part => ({ kind: 'text', text: value, cache: null })),
  text.map((value): Part => ({ kind: 'refusal', text: value })),
  fc.record({
    kind: fc.constant('thinking' as const),
    text,
    signature: fc.option(seal),
    isRedacted: fc.constant(false)
  }),
  fc.record({
    kind: fc.constant('thinking' as const),
    text: fc.constant(''),
    signature: fc.option(seal),
    isRedacted: fc.boolean()
  }),
  fc.record({
    kind: fc.constant('toolCall' as const),
    id: fc.oneof(bytes, fc.constant('call_weir_0')),
    name: word,
    arguments: fc.oneof(
      args.map((value) => JSON.stringify(value)),
      fc.constantFrom('', '{"a":', '[1]', '{"n":1.0}')
    ),
    signature: fc.option(seal),
    cache: fc.constant(null)
  }),
  bytes.map(
    (data): Part => ({
      kind: 'image',
      source: { kind: 'base64', data },
      mediaType: 'image/png',
      name: null,
      detail: null,
      cache: null
    })
  ),
  fc.constantFrom<Part>(
    { kind: 'opaque', format: 'gemini', value: { executableCode: { language: 'PYTHON', code: 'x' } } },
    { kind: 'opaque', format: 'messages', value: { type: 'server_tool_use' } }
  )
)
const isProse = (item: Part | undefined) => item?.kind === 'text' || item?.kind === 'refusal'
const isThought = (item: Part | undefined) => item?.kind === 'thinking'
/** Google's streams have no bounds between texts, nor between thoughts: such parts would run together. */
const parts = fc
  .array(part, { maxLength: 6 })
  .map((list) => list.filter((item) => item.kind !== 'opaque' || item.format === 'gemini'))
  .map((list) =>
    list.filter((item, i) => !(isProse(item) && isProse(list[i - 1])) && !(isThought(item) && isThought(list[i - 1])))
  )
  .map((list) => list.filter((item) => !(item.kind === 'thinking' && item.text === '' && item.signature === null)))
  .filter((list) => list.every((item, i) => !isProse(item) || !isProse(list[i - 1])))
  .filter((list) => !list.some((item, i) => isBroken(item) && i > 0))

const isBroken = (item: Part) => item.kind === 'toolCall' && ['{"a":', '[1]'].includes(item.arguments)
const entries = fc.array(
  fc.record({
    token: text,
    logprob: fc.constant(-0.5),
    bytes: fc.constant(null),
    top_logprobs: fc.constantFrom([], [{ token: 'a', logprob: -1, bytes: null }])
  }),
  { minLength: 1, maxLength: 3 }
)
const stop = fc.constantFrom(
  ...(['end', 'length', 'stopSequence', 'tools', 'filter', 'refusal', 'pause', 'contextWindow', 'error'] as const)
)
const choice: fc.Arbitrary<Choice> = fc.tuple(parts, stop, fc.option(entries)).map(([list, reason, logprobs]) => ({
  parts: list,
  stop: reason,
  stopSequence: null,
  logprobs: isProse(list[0]) ? (logprobs as Json) : null
}))
const usage: fc.Arbitrary<Usage> = fc
  .record({ input: natural, cacheRead: natural, reasoning: natural, heard: natural, seen: natural, spoken: natural })
  .map(({ input, cacheRead, reasoning, heard, seen, spoken }) => ({
    input: input + cacheRead + heard + seen,
    cacheRead,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: heard,
    inputImage: seen,
    output: input + reasoning + spoken + seen,
    reasoning,
    outputAudio: spoken,
    outputImage: seen
  }))
const answer: fc.Arbitrary<Answer> = fc.record({
  id: fc.constantFrom('', 'answer-1'),
  model: fc.constant('gemini-3-pro'),
  created: fc.constantFrom(0, 1_700_000_000),
  choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
  usage: fc.option(usage),
  serviceTier: fc.constant(null),
  origin: fc.constant({ format: 'gemini' as const, unknownFields: new Map<string, Json>() })
})

function eventsOf(whole: Answer, size: number): ChatEvent[] {
  const { id, model, created } = whole
  const events: ChatEvent[] = [{ kind: 'start', id, model, created, usage: null }]
  for (const [i, { parts: list, logprobs }] of whole.choices.entries()) {
    for (const [j, item] of list.entries()) events.push(...eventsOfPart(item, i, size, j === 0 ? logprobs : null))
  }
  for (const [i, { stop: reason }] of whole.choices.entries()) {
    events.push({ kind: 'stop', choice: i, stop: reason, stopSequence: null })
  }
  if (whole.usage !== null) events.push({ kind: 'usage', usage: whole.usage, serviceTier: null })
  return [...events, { kind: 'done' }]
}

function eventsOfPart(item: Part, index: number, size: number, logprobs: Json | null): ChatEvent[] {
  const partText = item.kind === 'toolCall' ? item.arguments : 'text' in item ? item.text : null
  if (partText === null)
    return [
      { kind: 'begin', choice: index, part: item },
      { kind: 'end', choice: index }
    ]
  const bare = item.kind === 'toolCall' ? { ...item, arguments: '' } : { ...item, text: '' }
  const open = ('signature' in bare ? { ...bare, signature: null } : bare) as Part
  const events: ChatEvent[] = [{ kind: 'begin', choice: index, part: open }]
  for (let at = 0; at < partText.length; at += size) {
    const tokens = at === 0 ? logprobs : null
    events.push({ kind: 'delta', choice: index, text: partText.slice(at, at + size), logprobs: tokens })
  }
  if ('signature' in item && item.signature !== null) {
    events.push({ kind: 'signature', choice: index, signature: item.signature })
  }
  return [...events, { kind: 'end', choice: index }]
}

/** What SSE framing makes of whole events. */
function reread(wire: string): ChatEvent[] {
  const reader = gemini.streamReader()
  return wire
    .split('\n\n')
    .filter((event) => event !== '')
    .flatMap((event) => {
      assert.ok(event.startsWith('data: '))
      return [...reader.read({ name: '', data: event.slice(6) })]
    })
}

test('a streamed answer is the unstreamed one', () => {
  fc.assert(
    fc.property(answer, fc.integer({ min: 1, max: 5 }), (whole, size) => {
      const writer = gemini.streamWriter(CONTEXT)
      const wire = eventsOf(whole, size)
        .map((event) => writer.write(event))
        .join('')
      const expected = gemini.readAnswer(gemini.writeAnswer(whole, CONTEXT, new Losses()))
      const broken = whole.choices.some((one) => one.parts.some(isBroken))
      const { origin, ...unstreamed } = expected
      const { origin: _, ...streamed } = assemble(reread(wire), 'gemini')
      assert.deepEqual(streamed, unstreamed)
      if (!broken) assert.deepEqual([...origin.unknownFields], [])
    }),
    RUNS
  )
})

test('an answer that was read and written says the same again', () => {
  fc.assert(
    fc.property(answer, (whole) => {
      const once = gemini.readAnswer(gemini.writeAnswer(whole, CONTEXT, new Losses()))
      assert.deepEqual(gemini.readAnswer(gemini.writeAnswer(once, CONTEXT, new Losses())), once)
    }),
    RUNS
  )
})

test('hostile JSON gives a FormatError or nothing', () => {
  const names = fc.constantFrom('contents', 'parts', 'role', 'text', 'functionCall', 'tools', '__proto__', 'candidates')
  const { value: junk } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<Json>(null, 1, 'x', true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>
    )
  }))
  const body = fc.dictionary(names, junk).map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
  const format = (error: unknown) => assert.equal((error as Error).constructor.name, 'FormatError')
  fc.assert(
    fc.property(body, (value) => {
      for (const read of [
        () => gemini.writeRequest(gemini.readRequest(value, FROM), new Losses()),
        () => gemini.writeAnswer(gemini.readAnswer(value), CONTEXT, new Losses()),
        () => gemini.streamReader().read({ name: '', data: JSON.stringify(value) })
      ]) {
        try {
          read()
        } catch (error) {
          format(error)
        }
      }
      assert.equal(({} as { polluted?: unknown }).polluted, undefined)
    }),
    RUNS
  )
})
