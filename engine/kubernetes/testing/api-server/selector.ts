/** Label selectors in queries: "a=b,c!=d,e in (f,g),h,!i". */

const REQUIREMENT = /^\s*(!?)([\w./-]+)\s*(?:(==|=|!=|in|notin)\s*(.*?))?\s*$/

export function selects(selector: string, labels: Readonly<Record<string, string>> = {}): boolean {
  if (selector === '') return true
  return selector.split(/,(?![^(]*\))/).every((requirement) => {
    const [, negated, key = '', operator, operand = ''] = REQUIREMENT.exec(requirement) ?? []
    const value = labels[key]
    if (operator === undefined) return (value === undefined) === (negated === '!')
    const values = operand
      .replace(/[()]/g, '')
      .split(',')
      .map((one) => one.trim())
    const isOne = value !== undefined && values.includes(value)
    return operator === '!=' || operator === 'notin' ? !isOne : isOne
  })
}
