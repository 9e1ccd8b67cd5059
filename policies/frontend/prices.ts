/**
 * spec.frontend.prices, and `config.prices` of a file: what calls of models cost. docs/prices.md is the page for users.
 */

import { type CompileContext, type Compiled, FieldError, type Policy, type Sources } from '#engine/contract/policy.ts'
import { CATALOGUE_CURRENCY, type PriceSettings } from '#engine/contract/price-list.ts'
import { currency, priceRows, settingsOf } from '#engine/prices/schema.ts'
import { deferred, shortString, z } from '#engine/schema/schema.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'

const schema = deferred(() =>
  z.strictObject({
    currency: currency().optional(),
    catalogue: z
      .boolean()
      .optional()
      .describe(
        'Whether the catalogue of this version has a say behind the rows here. Default: if the currency is USD.'
      ),
    responseHeader: z
      .boolean()
      .optional()
      .describe('Whether whole answers of models have x-weir-cost, in units of the currency. Default false.'),
    models: priceRows().optional().describe('Prices in place of those of the catalogue.'),
    file: onlyInFiles(shortString().optional()).describe(
      'Further prices: a file with `models` as here, and its `currency`. It is read again when it changes.'
    )
  })
)

type Config = z.output<typeof schema>

const document = deferred(() => z.strictObject({ currency: currency().optional(), models: priceRows() }))

/** Rows of the configuration go behind those of the file, so that they hold. */
function resolve(config: Config, sources: Sources): PriceSettings {
  const { currency: own = CATALOGUE_CURRENCY } = config
  if (config.catalogue === true && own !== CATALOGUE_CURRENCY) {
    const message = `has prices in ${CATALOGUE_CURRENCY}, and the currency here is ${own}: leave it out, and say all prices`
    throw new FieldError(['catalogue'], message)
  }
  if (config.file === undefined) return settingsOf(config, config.models ?? [])
  const file = read(config.file, sources)
  const listed = file.currency ?? CATALOGUE_CURRENCY
  if (listed !== own) {
    throw new FieldError(
      ['file'],
      `${config.file} has prices in ${listed}, and the currency here is ${own}: one of them holds for all`
    )
  }
  return settingsOf(config, [...file.models, ...(config.models ?? [])])
}

function read(path: string, { readFile, readYaml }: Sources): z.output<typeof document> {
  let value: unknown
  try {
    value = readYaml(readFile(path))
  } catch (error) {
    throw new FieldError(['file'], (error as Error).message)
  }
  const parsed = document.safeParse(value)
  if (parsed.success) return parsed.data
  const { path: at, message } = parsed.error.issues[0]!
  throw new FieldError(['file'], `${path}: ${at.map(String).join('.')} ${message}`)
}

function compile(settings: PriceSettings, { prices }: CompileContext): Compiled {
  return { background: prices.use(settings) }
}

export const prices: Policy = {
  name: 'prices',
  section: 'frontend',
  schema,
  inConfig: schema,
  aliases: [],
  resolve,
  compile
}
