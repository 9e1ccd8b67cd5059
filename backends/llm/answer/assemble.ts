/** A streamed answer as the whole that it would have been unstreamed. */
import type { Answer, ChatEvent, Choice, FormatName, Json, Part, Usage } from '#backends/llm/conversation.ts'

interface OpenChoice {
  readonly parts: Part[]
  logprobs: Json[] | null
  stop: Choice['stop']
  stopSequence: string | null
}

/** The answer that `events` tell; throws on an error event, and on deltas outside of a part. */
export function assemble(events: Iterable<ChatEvent>, format: FormatName): Answer {
  const choices: OpenChoice[] = []
  let head = { id: '', model: '', created: 0 }
  let usage: Usage | null = null
  let serviceTier: string | null = null
  for (const event of events) {
    if (event.kind === 'error') throw new Error(event.error.message)
    if (event.kind === 'start') {
      head = { id: event.id, model: event.model, created: event.created }
      usage = event.usage ?? usage
    } else if (event.kind === 'usage') {
      usage = event.usage
      serviceTier = event.serviceTier ?? serviceTier
    } else if (event.kind !== 'done') {
      choices[event.choice] ??= { parts: [], logprobs: null, stop: 'end', stopSequence: null }
      add(choices[event.choice]!, event)
    }
  }
  return { ...head, choices, usage, serviceTier, origin: { format, unknownFields: new Map() } }
}

function add(choice: OpenChoice, event: Extract<ChatEvent, { readonly choice: number }>): void {
  if (event.kind === 'begin') {
    choice.parts.push(event.part)
  } else if (event.kind === 'stop') {
    choice.stop = event.stop
    choice.stopSequence = event.stopSequence
  } else if (event.kind !== 'end') {
    const part = choice.parts.pop()
    if (part === undefined) throw new Error(`a ${event.kind} outside of any part`)
    choice.parts.push(
      event.kind === 'delta' ? grown(part, event.text) : ({ ...part, signature: event.signature } as Part)
    )
    if (event.kind === 'delta' && Array.isArray(event.logprobs)) {
      choice.logprobs = [...(choice.logprobs ?? []), ...(event.logprobs as readonly Json[])]
    }
  }
}

function grown(part: Part, text: string): Part {
  if (part.kind === 'toolCall') return { ...part, arguments: part.arguments + text }
  if (part.kind === 'text' || part.kind === 'thinking' || part.kind === 'refusal')
    return { ...part, text: part.text + text }
  throw new Error(`a delta of a part of kind ${part.kind}`)
}
