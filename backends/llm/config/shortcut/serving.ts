/** The one of `models` that serves `name`: the exact one, else the one with the longest pattern; undefined: none. */
export function serving<T extends { readonly name: string }>(models: readonly T[], name: string): T | undefined {
  let best: T | undefined
  for (const model of models) {
    if (model.name === name) return model
    if (fits(model.name, name) && model.name.length > (best?.name.length ?? 0)) best = model
  }
  return best
}

function fits(pattern: string, name: string): boolean {
  if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1))
  return pattern.startsWith('*') && name.endsWith(pattern.slice(1))
}
