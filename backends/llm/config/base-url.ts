/** Where an API over HTTP is, as one text. */
import { hostnameOf } from '#engine/http/authority.ts'
import { says, z } from '#engine/schema/schema.ts'

const BASE_URL = /^https?:\/\/(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?(?:\/[!-"$->@-~]*)?$/
const EXPECTED = 'must be "http://host:port/path" or "https://host/path", without user, query and fragment'

export const baseUrl = () =>
  z
    .string({ error: says(EXPECTED) })
    .max(1024)
    .regex(BASE_URL, EXPECTED)
    .refine((text) => !BASE_URL.test(text) || URL.canParse(text), EXPECTED)

export interface Place {
  readonly host: string
  /** Undefined: that of the scheme. */
  readonly port: number | undefined
  readonly hasTls: boolean
  /** Without a slash at its end; null: there is none. */
  readonly pathPrefix: string | null
}

/** `text`: it has passed the schema. */
export function placeOf(text: string): Place {
  const url = new URL(text)
  const path = url.pathname.replace(/\/+$/, '')
  return {
    host: hostnameOf(url),
    port: url.port === '' ? undefined : Number(url.port),
    hasTls: url.protocol === 'https:',
    pathPrefix: path === '' ? null : path
  }
}
