/** Texts of the page of configurations. */

/** Something to begin with, which could run. */
export const EXAMPLE = `# Checked as you type, as a gateway would check it at its start. Nothing is put in force.
binds:
  - port: 8080
    listeners:
      - routes:
          - name: hello
            matches: [{ path: { pathPrefix: / } }]
            policies:
              directResponse: { status: 200, body: "hello\\n" }
`

/** One mistake in one text: where, what, and how to mend it. */
export function textOf({
  path,
  message,
  hint
}: {
  readonly path: string
  readonly message: string
  readonly hint: string | null
}): string {
  return [path === '' ? message : `${path}: ${message}`, ...(hint === null ? [] : [hint])].join('\n')
}

/** Parts of the snapshot with how many things each has: "binds (2)". */
export function partsOf(
  snapshot: Readonly<Record<string, unknown>>
): readonly { readonly name: string; readonly size: number; readonly text: string }[] {
  return Object.entries(snapshot)
    .filter(([, value]) => typeof value === 'object' && value !== null)
    .map(([name, value]) => ({ name, size: Object.keys(value as object).length, text: JSON.stringify(value, null, 2) }))
}
