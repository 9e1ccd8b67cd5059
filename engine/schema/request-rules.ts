/** `paths` and `headersWithUnderscores` of a listener: what becomes of requests before they are judged. */
import { PATH_DEFAULTS } from '#engine/http/path.ts'
import { REQUEST_DEFAULTS, type RequestRules } from '#engine/http/request-rules.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { z } from '#engine/schema/schema.ts'

const slashes = (read: string) =>
  z
    .enum(['keep', 'reject', 'redirect', 'unescape'])
    .optional()
    .describe(
      `${read} keep: sent on as it is, and judged in both ways. reject: 400. redirect: 307 to the path with "/" instead. unescape: "/" instead.`
    )

const pathsSchema = atLeastOne({
  mergeSlashes: z
    .boolean()
    .optional()
    .describe('Whether "//" becomes "/". Otherwise it is sent on, and judged in both ways. Default false.')
    .meta({ examples: [true] }),
  escapedSlashes: slashes('%2F. Default keep.').meta({ examples: ['unescape'] }),
  backslashes: slashes('"\\" and %5C. Default reject.').meta({ examples: ['keep'] }),
  parameters: z
    .enum(['keep', 'strip', 'reject'])
    .optional()
    .describe(
      'What follows ";" in a segment. keep: sent on, and judged with it and without. strip: taken away. reject: 400. Default keep.'
    )
    .meta({ examples: ['strip'] }),
  doubleEncoding: z
    .enum(['keep', 'reject'])
    .optional()
    .describe('%25 before two hexadecimal digits, as in %252e: decoded once, to %2e. reject: 400. Default keep.')
    .meta({ examples: ['reject'] }),
  invalidUtf8: z
    .enum(['keep', 'reject'])
    .optional()
    .describe('Escapes that are no UTF-8, as in %FF. keep: never decoded. reject: 400. Default reject.')
    .meta({ examples: ['keep'] })
}).describe('What becomes of paths that servers read in different ways, before routes and rules see them.')

export const requestFields = {
  paths: pathsSchema.optional(),
  headersWithUnderscores: z
    .enum(['keep', 'drop', 'reject'])
    .optional()
    .describe('Header fields with "_" in their names, which some servers take for those with "-". Default drop.')
    .meta({ examples: ['keep'] })
}

export interface FileRequestRules {
  readonly paths?: z.output<typeof pathsSchema> | undefined
  readonly headersWithUnderscores?: RequestRules['headersWithUnderscores'] | undefined
}

export function translateRequestRules({ paths, headersWithUnderscores }: FileRequestRules): RequestRules {
  const present = Object.entries(paths ?? {}).filter(([, value]) => value !== undefined)
  return {
    paths: { ...PATH_DEFAULTS, ...Object.fromEntries(present) },
    headersWithUnderscores: headersWithUnderscores ?? REQUEST_DEFAULTS.headersWithUnderscores
  }
}

/** Of a listener; nothing when the file says nothing of them. */
export function requestsOf(file: FileRequestRules): { readonly requests?: RequestRules } {
  const isSilent = file.paths === undefined && file.headersWithUnderscores === undefined
  return isSilent ? {} : { requests: translateRequestRules(file) }
}
