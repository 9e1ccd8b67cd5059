/** What clients of each format want embedded (sources as of embeddings.ts). */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { Fields, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { lossPath } from '#backends/llm/formats/unknown-fields.ts'
import { taskOf, type Wanted } from './embedding-wires.ts'

/** What services with OpenAI's words add to them. */
function taskIn(fields: Fields, takesTask: boolean): string | null {
  return takesTask ? taskOf(fields.optionalString('input_type')) : null
}

/** Throws FormatError. */
export function fromOpenai(body: JsonObject, takesTask: boolean): Wanted {
  const fields = new Fields(body, '')
  const input = fields.any('input')
  const texts = typeof input === 'string' ? [input] : input
  if (!Array.isArray(texts) || texts.length === 0) throw new FormatError('input', 'is required')
  const isText = texts.every((text): text is string => typeof text === 'string')
  if (!isText) throw new FormatError('input', 'tokens cannot be carried to this provider: send text')
  const dimensions = fields.optionalNumber('dimensions')
  fields.optionalWord('encoding_format', ['float', 'base64'])
  fields.any('model')
  return { texts, dimensions, task: taskIn(fields, takesTask), unknown: unknownIn(fields) }
}

/** Throws FormatError. */
export function fromGemini(body: JsonObject, isBatch: boolean, takesTask: boolean): Wanted {
  const requests = isBatch ? new Fields(body, '').objects('requests') : [new Fields(body, '')]
  if (requests.length === 0) throw new FormatError('requests', 'is required')
  const unknown: string[] = []
  const dimensions = new Set<number | null>()
  const tasks = new Set<string | null>()
  const texts = requests.map((request) => {
    const content = request.object('content')
    content.any('role')
    request.any('model')
    dimensions.add(request.optionalNumber('outputDimensionality'))
    if (takesTask) tasks.add(request.optionalString('taskType'))
    const text = content.objects('parts').map((part) => {
      const piece = part.string('text')
      unknown.push(...unknownIn(part))
      return piece
    })
    unknown.push(...unknownIn(content), ...unknownIn(request))
    return text.join('')
  })
  if (dimensions.size > 1) {
    throw new FormatError('requests[1].outputDimensionality', 'must be the same in all requests for this provider')
  }
  if (tasks.size > 1)
    throw new FormatError('requests[1].taskType', 'must be the same in all requests for this provider')
  return { texts, dimensions: [...dimensions][0]!, task: [...tasks][0] ?? null, unknown }
}

function unknownIn(fields: Fields): string[] {
  const unknown = new Map<string, Json>()
  fields.leaveUnknown(unknown)
  return [...unknown.keys()].map(lossPath)
}

/** Kinds of numbers that this gateway can write; others are the model's own. */
const WRITTEN = ['float', 'base64']

/** Throws FormatError. */
export function fromCohere(body: JsonObject, takesTask: boolean): Wanted {
  const fields = new Fields(body, '')
  const texts = cohereTexts(fields)
  const types = fields.any('embedding_types') ?? ['float']
  const isKnown = Array.isArray(types) && types.length === 1 && WRITTEN.some((type) => types[0] === type)
  if (!isKnown) throw new FormatError('embedding_types', `must be one of ${WRITTEN.join(', ')} for this provider`)
  fields.any('model')
  const dimensions = fields.optionalNumber('output_dimension')
  return { texts, dimensions, task: taskIn(fields, takesTask), unknown: unknownIn(fields) }
}

function cohereTexts(fields: Fields): string[] {
  const texts = fields.any('texts')
  if (texts === null && fields.any('inputs') !== null) return fields.objects('inputs').map(textOf)
  if (!Array.isArray(texts) || texts.length === 0) throw new FormatError('texts', 'is required')
  const isText = (texts as readonly Json[]).every(isString)
  if (!isText) throw new FormatError('texts', 'must be texts')
  return texts as string[]
}

/** An input of parts. */
function textOf(input: Fields): string {
  return input
    .objects('content')
    .map((part) => {
      if (part.string('type') !== 'text') throw new FormatError(part.at('type'), 'must be text for this provider')
      return part.string('text')
    })
    .join('')
}
