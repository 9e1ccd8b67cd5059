/** What a provider is sent for a request, as far as its configuration decides it. */

import { edited, withModel } from '#backends/llm/edits/edit.ts'
import { Names } from '#backends/llm/edits/names.ts'
import { spokenTo } from '#backends/llm/formats/index.ts'
import type { Spoken } from '#backends/llm/providers/dialects.ts'
import { type Provider, providerOf } from '#backends/llm/providers/index.ts'
import { type ChatRequest, modelFor, type Order } from '#backends/llm/request/request.ts'
import type { AiBackend, AiProvider } from '#engine/ir/snapshot.ts'

type Given = Pick<AiProvider, 'type' | 'cloud' | 'formats' | 'model' | 'path' | 'pathPrefix' | 'edits'>

/** Plain data, and nothing secret: it is also told to other threads. */
export interface Recipe {
  readonly given: Given
  readonly aliases: AiBackend['modelAliases']
  readonly spoken: Spoken
}

export interface Writer {
  readonly given: Given
  readonly provider: Provider
  readonly aliases: Names<string>
  readonly spoken: Spoken
}

export function writerOf({ given, aliases, spoken }: Recipe): Writer {
  return { given, provider: providerOf(given), aliases: new Names(Object.entries(aliases)), spoken }
}

export interface Draft {
  /** As the configuration has changed it. */
  readonly sent: ChatRequest
  readonly order: Order
}

/** Throws FormatError. */
export function draft(chat: ChatRequest, writer: Writer): Draft {
  const { edits } = writer.given
  const first = orderOf(withModel(chat, edits), writer)
  const sent = edited(chat, edits, first.format)
  return { sent, order: sent === chat ? first : orderOf(sent, writer) }
}

function orderOf({ model: asked, client }: ChatRequest, { given, provider, aliases, spoken }: Writer): Order {
  const { path, pathPrefix, edits } = given
  const model = modelFor(asked, given.model, aliases)
  const format = spokenTo(provider, client, model)
  return { provider, format, model, path, pathPrefix, caching: edits.caching, dialect: spoken.dialect }
}
