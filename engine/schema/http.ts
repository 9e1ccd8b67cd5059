/** Parts of HTTP messages that a configuration names. */
import { patternProblem } from '#engine/kit/pattern.ts'
import { cel, enforcedAs, ONLY_GATEWAY } from './rule.ts'
import { longString, once, z } from './schema.ts'

export const HEADER_NAME = /^:?[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/

/** HeaderName (docs/specification.md#leaf-types) -> lower case. Pseudo headers (":path") are names too. */
export const headerName = once(() =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(256), z.regex(HEADER_NAME, 'must be a header name'))
    .transform((text) => text.toLowerCase())
)

/** HeaderName of a field, so not a pseudo header. */
export const fieldName = once(() =>
  headerName().refine((name) => !name.startsWith(':'), {
    error: 'must be a header name, not a pseudo header',
    params: cel("!self.startsWith(':')")
  })
)

const METHOD_EXPECTED = 'must be a method such as "GET"'

/** A method (RFC 9110 section 9.1) -> upper case. */
export const method = once(() =>
  z
    .string({
      error: ({ input }) =>
        Array.isArray(input) ? `${METHOD_EXPECTED}: for several, an entry of matches each` : METHOD_EXPECTED
    })
    .check(z.maxLength(64), z.regex(/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, METHOD_EXPECTED))
    .transform((text) => text.toUpperCase())
)

/** An absolute path as it is on the wire: visible ASCII without "?" and "#", so percent-encoded. */
export const path = once(() =>
  longString().check(
    z.regex(/^\//, 'must begin with "/"'),
    z.regex(/^[!-"$->@-~]*$/, 'must be percent-encoded, without spaces, "?" and "#"')
  )
)

/** The source of an expression in RE2 syntax: no look-around and no back references, so matching is linear. */
export const regexSource = once(() =>
  longString().superRefine((source, context) => {
    const problem = patternProblem(source)
    if (problem !== null) context.addIssue({ code: 'custom', message: `is no RE2 expression: ${problem}` })
  }, enforcedAs(ONLY_GATEWAY))
)
