/* Sampled utilization of the processes and of the streams between them. */
#include "dashboard/routes/route_support.h"

/* The payload is an object, to which the time is added. */
static void take_sample(void *self, const cse_row *row)
{
    json_t *sample = json_loads(row->fields[1].text != NULL ? row->fields[1].text : "{}", 0, NULL);
    if (!json_is_object(sample)) {
        json_decref(sample);
        return;
    }
    json_object_set_new(sample, "time_ms", json_integer(row->fields[0].integer));
    json_array_insert_new(self, 0, sample);
}

static void get_topology(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *samples = json_array(), *failure = cse_store_reader_failure_journal(run.reader);
    const cse_store_query query = { .limit = cse_request_integer(request, "samples", 1),
                                    .newest_first = true };
    cse_status status =
        cse_store_reader_rows(run.reader, CSE_ROW_TOPOLOGY, &query, take_sample, samples);
    cse_server_close_run(request, &run);
    const char *missing = json_array_size(samples) == 0
                              ? "no sample was taken: the run has not taken steps for half a second"
                              : NULL;
    if (failure != NULL)
        missing = "the run store cannot be written; newer samples come with the events";
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:s?}", "samples", samples, "missing", missing));
    json_decref(samples);
    json_decref(failure);
}

/* What is in a sample, live or stored. */
#define SAMPLE_FIELDS                                                                              \
    "  step integer  # steps done; in a validation, its batches\n"                                 \
    "  loop? 'training'|'validation'  # whose steps those are, here and of the processes\n"        \
    "  interval_ms? integer  # the time that the shares are of\n"                                  \
    "  steps_per_second number\n"                                                                  \
    "  microbatches? integer  # of a step\n"                                                       \
    "  replicas? integer  # that share a step\n"                                                   \
    "  data? TopologyData\n"                                                                       \
    "  ring? TopologyRing\n"                                                                       \
    "  processes [TopologyProcess]\n"                                                              \
    "  streams [TopologyStream]\n"                                                                 \
    "  machine? TopologyMachine  # in one of several samples\n"                                    \
    "  hosts? [TopologyHost]  # of a run on several hosts; processes and streams above are those " \
    "of the leading one\n"

static const char schemas[] =
    "TopologyProcess open\n"
    "  name string  # replica 0\n"
    "  role string\n"
    "  rank integer  # of an input worker, its shard: the positions q of the input stream with "
    "q mod W = rank\n"
    "  pid? integer|null\n"
    "  incarnation? integer  # processes that its place has had\n"
    "  state? 'starting'|'running'|'lost'|'left'  # lost: its process ended and is to be replaced\n"
    "  busy? number|null 0..1  # share of the time\n"
    "  idle? number|null 0..1\n"
    "  back_pressured? number|null 0..1\n"
    "  input_wait? number|null 0..1  # of a replica: the part of idle in which input was missing\n"
    "  disk? TopologyDisk  # of a process that computes, with states in a file\n"
    "  step? integer  # of the microbatch that it fills or computes, or did last; from 1\n"
    "  microbatch? integer  # from 0\n"
    "  epoch? integer  # of an input worker's microbatch, from 1\n"
    "  sample? integer  # its first sample's place in the epoch, from 0\n"
    "  bad_records? integer  # samples that it could not read, and replaced\n"
    "  fed_by? [integer]  # of a replica: ranks of the input workers of its places in the ring\n"
    "TopologyDisk open  # what it reads and writes of the file of states\n"
    "  read_mb_per_second,written_mb_per_second number\n"
    "  waited number 0..1  # share of the time in which it waited for the disk\n"
    "  hidden number 0..1  # share in which the disk was busy while it computed\n"
    "TopologyStream open\n"
    "  name string\n"
    "  from,to string  # a process, or 'input ring', 'reduction tree', 'replicas'\n"
    "  payload? string  # what travels: bfloat16; images float32, labels int32\n"
    "  depth? integer|null  # filled slots\n"
    "  capacity? integer|null\n"
    "  credits? integer|null  # slots free to the sender\n"
    "  mb_per_second? number|null\n"
    "TopologyMachine open  # the host as a whole; what it does not tell is left out\n"
    "  interval_ms? integer  # the time that shares and rates are of\n"
    "  busy? number 0..1  # of all cores\n"
    "  cores? [number]  # of each, with up to 64\n"
    "  clock_mhz,clock_least_mhz? number\n"
    "  memory_bytes,memory_free_bytes? integer\n"
    "  disk_read_mb_per_second,disk_written_mb_per_second? number\n"
    "  disk_busy? number 0..1  # the busiest disk\n"
    "  network_received_mb_per_second,network_sent_mb_per_second? number\n"
    "  temperature_celsius? number  # the hottest sensor\n"
    "  not_readable? [string]\n"
    "TopologyHost open\n"
    "  name string\n"
    "  state 'absent'|'expected'|'present'|'lost'\n"
    "  leads,connected boolean\n"
    "  why string  # it is lost, or was not let in; empty otherwise\n"
    "  steps_done integer|null\n"
    "  losses? integer  # how often it was lost\n"
    "  returns_ms? integer|null  # of a lost host: when it is tried again; null: not by itself\n"
    "  report_age_ms integer|null  # of what its processes and links say\n"
    "  exposed number|null 0..1  # share of the time in which it waited for sums of others\n"
    "  slowest? boolean  # the others wait for this one\n"
    "  processes [TopologyProcess]\n"
    "  links [TopologyLink]\n"
    "  machine? TopologyMachine\n"
    "TopologyLink open  # what a host's mover exchanges with that of another one\n"
    "  to string|null  # null: with all others together, where there are more than 8 hosts\n"
    "  frames_per_second,mb_sent_per_second,mb_received_per_second? number\n"
    "  bytes_sent,bytes_received? integer  # since the execution began\n"
    "  reconnects? integer  # connections after the first one\n"
    "  retransmits? integer  # segments that TCP has sent again\n"
    "  refused? integer  # frames that were stale or not authentic, and connections\n"
    "TopologyData open  # where the samples come from\n"
    "  input string  # name of the input function\n"
    "  source string|null  # the file\n"
    "  samples integer  # of an epoch\n"
    "  bad_records? integer  # samples that could not be read, and were replaced, in this part of "
    "the run\n"
    "TopologyRing open  # the input ring, in microbatches\n"
    "  capacity,filled,filling integer\n"
    "TopologyEvent open  # A sample, as it is taken.\n" SAMPLE_FIELDS "TopologySample open\n"
    "  time_ms time\n" SAMPLE_FIELDS "Topology\n"
    "  samples [TopologySample]  # oldest first\n"
    "  missing string|null  # what is not there and why\n";

const cse_route cse_route_topology = {
    .path = "/api/v1/jobs/{id}/topology",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getTopology", get_topology,
                        "Processes and streams: busy, idle, back-pressured; depth, credits, MB/s"),
          .parameters = "samples? integer 1..1000 = 1  # the newest so many\n",
          .replies = "200 Topology",
          .problems = "503" },
    },
};
