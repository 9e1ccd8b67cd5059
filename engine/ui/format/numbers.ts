/** Numbers as people read them. Nothing here depends on the language of the browser: an engineer compares with curl. */

/** "0.4", "1,234", "12.3k", "4.5M": at most four digits. */
export function count(value: number): string {
  if (Math.abs(value) < 10) return trimmed(value.toFixed(1))
  if (Math.abs(value) < 10_000) return grouped(String(Math.round(value)))
  const [size, unit] = [[1e9, 'G'] as const, [1e6, 'M'] as const, [1e3, 'k'] as const].find(
    ([step]) => Math.abs(value) >= step
  )!
  const scaled = value / size
  return `${Math.abs(scaled) < 100 ? trimmed(scaled.toFixed(1)) : Math.round(scaled)}${unit}`
}

/** All digits, in groups. */
export const exact = (value: number): string => grouped(String(value))

function grouped(digits: string): string {
  const [whole = '', ...rest] = digits.split('.')
  return [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.')
}

const trimmed = (text: string): string => text.replace(/\.0+$/, '')

/** Decimal text in a currency: "1.5" of "USD" is "$1.50". Small sums keep two digits that say something. */
export function money(amount: string | number, currency = 'USD'): string {
  const value = Number(amount)
  const sign = value < 0 ? '-' : ''
  const size = Math.abs(value)
  const places = size === 0 || size >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(size)))
  const text = grouped(size.toFixed(Math.max(2, places)))
  return currency === 'USD' ? `${sign}$${text}` : `${sign}${text} ${currency}`
}

/** "850 µs", "12 ms", "3.2 s", "4 min", "2 h", "3 d". */
export function duration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  if (ms < 1000) return `${ms < 10 ? trimmed(ms.toFixed(1)) : Math.round(ms)} ms`
  if (ms < 60_000) return `${ms < 10_000 ? trimmed((ms / 1000).toFixed(1)) : Math.round(ms / 1000)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${trimmed((ms / 3_600_000).toFixed(1))} h`
  return `${Math.round(ms / 86_400_000)} d`
}

/** `at`: ISO time. "12 s ago", "in 3 h", "now". */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (Number.isNaN(ms)) return at
  if (Math.abs(ms) < 1000) return 'now'
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`
}

export function percent(share: number): string {
  const value = share * 100
  if (value === 0 || value >= 10) return `${Math.round(value)} %`
  return value < 0.1 ? '< 0.1 %' : `${trimmed(value.toFixed(1))} %`
}
