/** Header fields as one flat list, name and value alternating: what can be sent from thread to thread. */

import { HeaderBlock } from '#engine/http/headers.ts'
export function flatten(headers: HeaderBlock): string[] {
  const fields: string[] = []
  headers.forEach((name, value) => void fields.push(name, value))
  return fields
}

/** Appends the fields to `headers`, which it returns. */
export function appendFlat(fields: readonly string[], headers = new HeaderBlock()): HeaderBlock {
  for (let i = 0; i + 1 < fields.length; i += 2) headers.append(fields[i]!, fields[i + 1]!)
  return headers
}
