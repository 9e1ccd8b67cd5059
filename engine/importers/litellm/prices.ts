/** Prices of a deployment, in its litellm_params or its model_info -> `prices` of its model. */
import { objectOf, type Raw } from '#engine/schema/placed.ts'

/** Prices of tokens and characters are of one of them there, and of a million here. */
const MILLION = 6

interface Price {
  readonly name: string
  /** Powers of ten between the two. */
  readonly shift: number
}

/** Custom prices of LiteLLM ("Custom LLM Pricing" of its docs), and those of its list. */
const PRICES: Readonly<Record<string, Price>> = {
  input_cost_per_token: { name: 'input', shift: MILLION },
  output_cost_per_token: { name: 'output', shift: MILLION },
  cache_read_input_token_cost: { name: 'cacheRead', shift: MILLION },
  cache_read_input_audio_token_cost: { name: 'cacheReadAudio', shift: MILLION },
  cache_read_input_image_token_cost: { name: 'cacheReadImage', shift: MILLION },
  cache_creation_input_token_cost: { name: 'cacheWrite5m', shift: MILLION },
  cache_creation_input_token_cost_above_1hr: { name: 'cacheWrite1h', shift: MILLION },
  output_cost_per_reasoning_token: { name: 'reasoning', shift: MILLION },
  input_cost_per_audio_token: { name: 'inputAudio', shift: MILLION },
  output_cost_per_audio_token: { name: 'outputAudio', shift: MILLION },
  input_cost_per_image_token: { name: 'inputImage', shift: MILLION },
  output_cost_per_image_token: { name: 'outputImage', shift: MILLION },
  input_cost_per_character: { name: 'perMillionCharacters', shift: MILLION },
  input_cost_per_second: { name: 'perSecond', shift: 0 },
  output_cost_per_image: { name: 'perImage', shift: 0 },
  input_cost_per_query: { name: 'perSearch', shift: 0 }
}

export const isPrice = (key: string): boolean => Object.hasOwn(PRICES, key)

/** Of `prices` of a model. Those of the parameters go ahead; null: there are none. */
export function pricesOf(info: unknown, params: unknown): readonly Raw[] | null {
  const row: Raw = {}
  for (const [key, value] of Object.entries({ ...objectOf(info), ...objectOf(params) })) {
    const price = isPrice(key) ? PRICES[key]! : null
    const text = price === null ? null : shifted(value, price.shift)
    if (text !== null) row[price!.name] = text
  }
  const isByToken = row.input !== undefined || row.output !== undefined
  if (Object.keys(row).length === 0) return null
  // Of the two, what is not said costs nothing there; here its price would not be known.
  return [isByToken ? { input: 0, output: 0, ...row } : row]
}

/** `value` times ten to the power of `shift`, digit by digit: 1.5e-7 is "0.15" per million. Null: it is no price. */
export function shifted(value: unknown, shift: number): number | string | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) return null
  const [, whole, part = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number))!
  const point = whole!.length + Number(exponent) + shift
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${part}`
  const at = Math.max(1, point)
  const text = `${digits.padEnd(at, '0').slice(0, at)}.${digits.slice(at)}`
  const plain = text.replace(/^0+(?=\d)/, '').replace(/\.?0*$/, '')
  return String(Number(plain)) === plain ? Number(plain) : plain
}
