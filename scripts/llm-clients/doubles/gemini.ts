/** Google's generateContent (API references of the Gemini API and of Vertex AI): unknown names are refused. */
import type { Body } from '#backends/demo/models/wire.ts'
import { type Double, eventOf, events, type ModelReply, whole } from './double.ts'
import * as s from './shape.ts'

const MEDIA = s.matching(
  /^(?:image\/(?:png|jpeg|webp|heic|heif|gif)|application\/pdf|text\/[\w-]+|audio\/\w+|video\/[\w-]+)$/
)
const SCHEMA_NAMES =
  'type format title description nullable enum maxItems minItems properties required minProperties maxProperties ' +
  'minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum additionalProperties ' +
  '$ref $defs ref defs'
/** The Schema of OpenAPI: less than JSON Schema has. */
const SCHEMA: s.Check = (value, at, faults) => SCHEMA_OBJECT(value, at, faults)
const SCHEMA_OBJECT = s.object({
  ...Object.fromEntries(SCHEMA_NAMES.split(' ').map((name) => [name, s.anything])),
  type: s.matching(/^[A-Za-z_]+$/),
  items: SCHEMA,
  properties: (value, at, faults) => {
    for (const [name, one] of Object.entries(value as Body)) SCHEMA(one, `${at}.${name}`, faults)
  }
})
const DECLARATION = s.object({
  'name!': s.matching(/^[a-zA-Z_][\w.:-]{0,127}$/),
  description: s.text,
  parameters: SCHEMA,
  parametersJsonSchema: s.map,
  response: s.map,
  responseJsonSchema: s.map,
  behavior: s.text
})
const DATA = { 'mimeType!': MEDIA }
const PART_KINDS = {
  text: s.text,
  inlineData: s.object({ ...DATA, 'data!': s.text }),
  fileData: s.object({ mimeType: MEDIA, 'fileUri!': s.text }),
  functionCall: s.object({ id: s.text, 'name!': s.text, args: s.map }),
  functionResponse: s.object({ id: s.text, 'name!': s.text, 'response!': s.map, parts: s.list(s.map) })
}
const PART = s.union(PART_KINDS, { thought: s.flag, thoughtSignature: s.text, videoMetadata: s.map })
const PARTS = { 'parts!': s.list(PART, 1) }
const LIST_OF = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, s.anything]))
const CONFIG = s.object({
  temperature: s.within(0, 2),
  topP: s.within(0, 1),
  topK: s.number,
  candidateCount: s.within(1, 8),
  maxOutputTokens: s.number,
  stopSequences: s.list(s.text),
  seed: s.number,
  presencePenalty: s.number,
  frequencyPenalty: s.number,
  responseMimeType: s.words('text/plain', 'application/json', 'text/x.enum'),
  responseSchema: SCHEMA,
  responseJsonSchema: s.map,
  responseModalities: s.list(s.words('TEXT', 'IMAGE', 'AUDIO')),
  responseLogprobs: s.flag,
  logprobs: s.number,
  thinkingConfig: s.object({ includeThoughts: s.flag, thinkingBudget: s.number, thinkingLevel: s.text }),
  mediaResolution: s.text,
  speechConfig: s.map
})
const BODY = s.object({
  'contents!': s.list(s.object({ 'role!': s.words('user', 'model'), ...PARTS }), 1),
  systemInstruction: s.object({ role: s.text, 'parts!': s.list(s.object({ 'text!': s.filled }), 1) }),
  tools: s.list(s.object({ functionDeclarations: s.list(DECLARATION, 1), ...LIST_OF('googleSearch codeExecution') })),
  toolConfig: s.object({
    functionCallingConfig: s.object({
      mode: s.words('AUTO', 'ANY', 'NONE', 'VALIDATED'),
      allowedFunctionNames: s.list(s.text)
    })
  }),
  safetySettings: s.list(s.object({ 'category!': s.text, 'threshold!': s.text })),
  generationConfig: CONFIG,
  cachedContent: s.text,
  serviceTier: s.text
})

const has = (content: Body, name: string): Body[] => (content?.parts ?? []).filter((part: Body) => name in part)

function orderOf({ contents }: Body, isNew: boolean): string | null {
  for (const [i, content] of contents.entries()) {
    const calls = has(content, 'functionCall')
    const answers = has(contents[i + 1], 'functionResponse')
    if (calls.length !== answers.length)
      return `contents[${i}]: the number of function response parts must equal that of the function call parts`
    if (calls.length > 0 && contents[i - 1]?.role !== 'user')
      return `contents[${i}]: a function call turn comes immediately after a user turn`
    if (isNew && calls.length > 0 && calls[0].thoughtSignature === undefined)
      return `contents[${i}]: Function call is missing a thought_signature in functionCall parts`
    const blank = content.parts.find(({ text, thoughtSignature }: Body) => text === '' && !thoughtSignature)
    if (blank !== undefined) return `contents[${i}]: must have one initialized data field`
    const seal = content.parts.find(({ thoughtSignature: sealed }: Body) => sealed && !SEALS.includes(sealed))
    if (seal !== undefined) return `contents[${i}]: Thought signature is not valid`
  }
  return null
}

const SEAL = 'CiQBVKhc7gQ='
const SEALS = [SEAL, 'skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']
const USAGE = {
  promptTokenCount: 120,
  candidatesTokenCount: 18,
  totalTokenCount: 150,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 120 }],
  thoughtsTokenCount: 12
}

/** The model's first call bears the seal, and Google gives no ids. */
function partsOf(reply: ModelReply): Body[] {
  const calls = reply.calls.map(({ name, input }, i) => ({
    functionCall: { name, args: JSON.parse(input) },
    ...(i === 0 ? { thoughtSignature: SEAL } : {})
  }))
  return [
    ...(reply.thoughts === null ? [] : [{ text: reply.thoughts, thought: true }]),
    ...(reply.text === '' ? [] : [{ text: reply.text }]),
    ...calls
  ]
}

function answerOf(parts: readonly Body[], reason: string | null, path: string): object {
  const content = { parts, role: 'model' }
  const finish = reason === null ? {} : { finishReason: reason }
  const modelVersion = /models\/([^:]+)/.exec(path)?.[1] ?? 'gemini'
  const candidates = [{ content, ...finish, index: 0 }]
  return { candidates, usageMetadata: USAGE, modelVersion, responseId: 'r0BVaZ' }
}

/** Names that the caller chooses. */
const FREE: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parametersJsonSchema',
  'properties',
  'responseJsonSchema'
])

/** Names may be written in snake case too, as some clients do (ProtoJSON). */
function camel(value: Body): Body {
  if (Array.isArray(value)) return value.map(camel)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => {
    const own = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return [own, FREE.has(own) ? one : camel(one)]
  })
  return Object.fromEntries(entries)
}

export const gemini: Double = {
  refuses: (input, path) => {
    const body = camel(input)
    return s.faultOf(BODY, body) ?? orderOf(body, path.includes('gemini-3'))
  },
  facts: (input, path) => {
    const body = camel(input)
    const calling = body.toolConfig?.functionCallingConfig
    return {
      tools: (body.tools ?? []).flatMap((tool: Body) =>
        (tool.functionDeclarations ?? []).map(({ name }: Body) => name)
      ),
      results: body.contents.flatMap((content: Body) => has(content, 'functionResponse')).length,
      forced: calling?.mode === 'ANY' ? (calling.allowedFunctionNames?.[0] ?? '') : null,
      mayCall: calling?.mode !== 'NONE',
      thinks: body.generationConfig?.thinkingConfig?.includeThoughts === true,
      isStreamed: path.includes(':streamGenerateContent')
    }
  },
  answer: (reply, _, { isStreamed }) => {
    const parts = partsOf(reply)
    if (!isStreamed) return whole(answerOf(parts, 'STOP', ''))
    const last = parts.at(-1)!
    const chunks = parts.slice(0, -1).map((part) => eventOf(answerOf([part], null, '')))
    return events([...chunks, eventOf(answerOf([last], 'STOP', ''))])
  },
  error: (status, message) => ({ error: { code: status, message, status: 'INVALID_ARGUMENT' } })
}
