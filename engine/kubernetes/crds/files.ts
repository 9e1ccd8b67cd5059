/** Where the CRDs are: files that "npm run schema" writes. */
export const CRDS_FOLDER = new URL('./', import.meta.url)

/** The first line of each. */
export const HEADER = '# Made from the schemas of the configuration by "npm run schema": change those.\n'
