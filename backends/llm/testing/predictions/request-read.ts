/** What a prediction is asked, as tests read it again: no client speaks it. */
import { type Conversation, type Json, type JsonObject, NO_SAMPLING, type Part } from '#backends/llm/conversation.ts'
import { paths } from '#backends/llm/formats/completions/paths.ts'
import { Fields, isString } from '#backends/llm/formats/fields.ts'
import { dataUrl } from '#backends/llm/formats/parts.ts'
import { inputsOf } from '#backends/llm/formats/predictions/models.ts'

/** As of a client of chat completions. */
export function readRequest(body: JsonObject): Conversation {
  const fields = new Fields(body, '')
  const model = fields.string('model')
  const { system, maxTokens, images, effort } = inputsOf(model)
  const input = fields.object('input')
  const instructions = system === null ? null : input.optionalString(system)
  const messages = input.objects('messages')
  const isSystem = (message: Fields) => message.value.role === 'system'
  const shown = images === undefined ? [] : [input.any(images.name)].flat()
  const prompt = input.optionalString('prompt')
  const stops = input.optionalString('stop_sequences')
  const thought = effort === undefined ? null : input.optionalString(effort)
  const texts = [instructions, ...messages.filter(isSystem).map((message) => message.string('content'))]
  return {
    model,
    isStreamed: false,
    system: texts.filter((text) => text !== null).map((text) => ({ kind: 'text', text, cache: null })),
    turns: [
      ...(prompt === null
        ? []
        : [{ role: 'user' as const, parts: [...partsOf(prompt), ...imagesOf(shown as Json[])] }]),
      ...messages.filter((message) => !isSystem(message)).map(turnOf)
    ],
    ...{ tools: [], toolChoice: null, output: null, serviceTier: null, user: null, metadata: null },
    sampling: {
      ...NO_SAMPLING,
      maxTokens: input.optionalNumber(maxTokens),
      temperature: input.optionalNumber('temperature'),
      topP: input.optionalNumber('top_p'),
      topK: input.optionalNumber('top_k'),
      seed: input.optionalNumber('seed'),
      frequencyPenalty: input.optionalNumber('frequency_penalty'),
      presencePenalty: input.optionalNumber('presence_penalty'),
      stop: stops === null ? [] : stops.split(',')
    },
    thinking: thought === null ? null : { mode: 'on', effort: thought, budgetTokens: null, isShown: null },
    origin: { format: 'completions', unknownFields: new Map(), paths }
  }
}

const partsOf = (text: string): Part[] => [{ kind: 'text', text, cache: null }]

function turnOf(message: Fields): Conversation['turns'][number] {
  const role = message.value.role === 'assistant' ? 'assistant' : 'user'
  return { role, parts: partsOf(message.string('content')) }
}

const imagesOf = (urls: readonly Json[]): Part[] =>
  urls.filter(isString).map((url) => {
    const data = dataUrl(url)
    const source = data === null ? { kind: 'url' as const, url } : ({ kind: 'base64', ...data } as const)
    return { kind: 'image', source, mediaType: data?.mediaType ?? null, name: null, detail: null, cache: null }
  })
