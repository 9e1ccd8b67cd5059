/** The job of the offload pool that converts YAML (converted.ts). In a file of its own: workers load no YAML reader. */
export const YAML_JOB = 'yaml'
