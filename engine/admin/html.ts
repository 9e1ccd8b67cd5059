/** HTML in which every interpolated value is escaped, unless it is HTML made the same way. */

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** Template tag. Values stand in text or in quoted attributes; lists are joined. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  let out = parts[0]!
  values.forEach((value, i) => {
    out += render(value) + parts[i + 1]!
  })
  return new Html(out)
}

function render(value: string | number | Html | readonly Html[]): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value).replace(/[&<>"']/g, (c) => ESCAPES[c]!)
  }
  return value.map((item) => item.text).join('')
}
