/** How a call of a tool becomes a request: plain data, compiled once and sent to workers as JSON. */

import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { Form } from './serialize.ts'
export interface Parameter extends Form {
  readonly isRequired: boolean
}

/** One field of a form. */
export interface Field extends Form {
  /** Of its part in a multipart body; null: depends on the value. */
  readonly contentType: string | null
  /** Whether its value is a file: bytes with a name. 'allowed': a file or text, since the document does not say. */
  readonly file: 'always' | 'allowed' | 'never'
}

export type MediaKind = 'json' | 'yaml' | 'form' | 'multipart' | 'text' | 'bytes'

/** One way to serialize a body. */
export interface Media {
  readonly mediaType: string
  readonly kind: MediaKind
  /** The type of value that it is for; null: any. */
  readonly takes: 'list' | 'object' | 'text' | null
  /** Form fields that differ from the defaults of OpenAPI. */
  readonly fields: readonly Field[]
}

export interface Body {
  /** In order of preference, never empty. The caller may choose. */
  readonly media: readonly Media[]
  readonly isRequired: boolean
}

export interface Plan {
  readonly method: string
  /** Literal text and names of parameters alternate; first and last is text. */
  readonly path: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly body: Body | null
}

export interface Operation extends Plan {
  /** Its entry in tools/list. */
  readonly tool: JsonObject & { readonly name: string }
}
