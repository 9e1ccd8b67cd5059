/** The command line of `weir cel`. */
import { SAMPLE_PLACES, type SamplePlace } from '#engine/cel/sample-places.ts'

export interface CelQuestion {
  readonly expression: string
  readonly place: SamplePlace
  /** JSON, "@" and the path of a file of it, or "@-"; null: nothing is known of the request. */
  readonly sample: string | null
  readonly isJson: boolean
}

export const CEL_OPTIONS = {
  sample: { type: 'string', short: 's' },
  place: { type: 'string', short: 'p' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
} as const

export const CEL_HELP = `weir cel: what an expression says of a request, and what is wrong with it; no gateway is needed

Usage:
  weir cel EXPRESSION [-s SAMPLE]

Options:
  -s, --sample SAMPLE       values by the names of expressions, as JSON, @FILE or @- (standard input);
                            what follows from request.url need not be written
  -p, --place PLACE         where it would stand: request, response, mcp or log; default log, which may read all
      --json                for programs
  -h, --help                print this

Examples:
  weir cel '1 + 2'
  weir cel 'request.path.startsWith("/api")' -s '{"request": {"url": "http://a/api/b"}}'
  weir cel 'jwt.sub == "ann" && "admin" in jwt.roles' -p request -s @request.json

Exit codes:
  0  it has a value; of a condition: true     1  it has none; of a condition: false
  2  wrong usage                              3  the expression or the sample is not valid
`

/** A text says what is wrong. */
export function readCelQuestion(
  [expression, ...others]: readonly string[],
  values: { readonly [name in 'sample' | 'place']?: string | undefined } & { readonly json?: boolean | undefined }
): CelQuestion | string {
  if (expression === undefined) return 'cel needs an expression: weir cel \'jwt.sub == "ann"\''
  if (others.length > 0) return 'cel takes one expression: put it in quotes'
  const { sample = null, place = 'log', json = false } = values
  const known = SAMPLE_PLACES.find((one) => one === place)
  if (known === undefined) return `--place must be one of ${SAMPLE_PLACES.join(', ')}, not '${place}'`
  return { expression, place: known, sample, isJson: json }
}
