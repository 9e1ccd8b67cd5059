/** How a call of a tool is sent: plain data, made of a document once, written as JSON for the threads that serve. */

import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { Form } from './serialize.ts'
export interface Parameter extends Form {
  readonly isRequired: boolean
}

/** One field of a form. */
export interface Field extends Form {
  /** Of its part of a multipart body; null: as its value has it. */
  readonly contentType: string | null
  /** Whether its value is a file: bytes with a name. 'allowed': or text, as the document does not say. */
  readonly file: 'always' | 'allowed' | 'never'
}

export type MediaKind = 'json' | 'yaml' | 'form' | 'multipart' | 'text' | 'bytes'

/** One way to write a body. */
export interface Media {
  readonly mediaType: string
  readonly kind: MediaKind
  /** Which values it is for; null: any. */
  readonly takes: 'list' | 'object' | 'text' | null
  /** Forms: the fields that are not as OpenAPI's defaults say. */
  readonly fields: readonly Field[]
}

export interface Body {
  /** The best first, never empty. Of several the caller may choose. */
  readonly media: readonly Media[]
  readonly isRequired: boolean
}

export interface Plan {
  readonly method: string
  /** Literal text and names of parameters in turns, beginning and ending with text. */
  readonly path: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly body: Body | null
}

export interface Operation extends Plan {
  /** As tools/list shows it. */
  readonly tool: JsonObject & { readonly name: string }
}
